/** What each folder of `src` may import; `architecture.test.ts` enforces it. */

/** The groups, in order: each may import those before it, as far as the rows of its folders say so. */
export const GROUPS = [
  'foundation',
  'boundary',
  'storage',
  'limits',
  'documents',
  'pipeline',
  'gateway',
  'control',
  'interfaces',
  'app',
] as const

export interface Row {
  /** Folders that may be imported, besides the folder itself. */
  readonly folders: readonly string[]
  /** npm packages; `node:` stands for the modules of Node except its database driver. */
  readonly packages: readonly string[]
}

const BASE = ['foundation/domain', 'foundation/runtime']
const PORTS = [...BASE, 'storage/store']
/** For the gateway: everything that the control plane has in common with it. */
const SHARED = [
  ...PORTS,
  ...['foundation/json', 'foundation/outbound', 'foundation/tls'],
  ...['boundary/plan', 'boundary/schema', 'storage/spool'],
]
const STREAM = [...PORTS, 'storage/spool', 'boundary/plan']
const DOCUMENTS = [...PORTS, 'foundation/json', 'boundary/plan']
const AJV = ['ajv', 'ajv-formats']

const GATEWAY_BELOW_CALL = [
  'limits',
  'gateway/routing',
  'gateway/validation',
  'gateway/backend',
  'gateway/headers',
  'gateway/connection',
  'gateway/cors',
  'gateway/tracing',
  'gateway/messages',
]
const GATEWAY = [
  ...GATEWAY_BELOW_CALL,
  'gateway/authentication',
  'gateway/call',
  'gateway/websocket',
  'gateway/forwarding',
  'gateway/mcp',
  'gateway/oauth',
]

const COMMANDS = [...PORTS, 'boundary/plan', 'control/command']
const PUBLISHING = [
  ...COMMANDS,
  ...['foundation/json', 'foundation/jobs', 'boundary/schema', 'control/subscriptions/document'],
  ...['documents/opensla', 'documents/governance', 'documents/governance/compare', 'documents/governance/serving'],
]
const ACCESS = ['control/approvals', 'control/publishing', 'control/access', 'control/subscriptions']
const RESOURCES = [...PUBLISHING, ...ACCESS, 'control/programmes', 'control/webhooks', 'control/mutes']

export const TABLE: Readonly<Record<string, Row>> = {
  'foundation/domain': { folders: [], packages: [] },
  'foundation/runtime': { folders: ['foundation/domain'], packages: ['pino', 'prom-client', 'negotiator', 'node:'] },
  'foundation/json': { folders: BASE, packages: ['re2js', 'node:'] },
  'foundation/jobs': { folders: BASE, packages: ['node:'] },
  'foundation/outbound': { folders: BASE, packages: ['undici', 'node:'] },
  // The certificates of this service.
  'foundation/tls': { folders: BASE, packages: ['node:'] },
  // Values of settings, of the service and of its commands.
  'foundation/settings': { folders: BASE, packages: ['node:'] },

  'boundary/plan': { folders: BASE, packages: ['node:'] },
  // JSON Schema as the gateway enforces it; documents are compared with the same validator.
  'boundary/schema': { folders: [...BASE, 'foundation/json', 'boundary/plan'], packages: [...AJV, 'node:'] },
  // Tools from operations, for the endpoints of the gateway and of the platform.
  'boundary/mcp': { folders: [...BASE, 'foundation/json', 'boundary/plan'], packages: ['node:'] },
  'boundary/leases': { folders: BASE, packages: ['node:'] },

  'storage/store': { folders: BASE, packages: ['node:'] },
  'storage/store/clickhouse': { folders: PORTS, packages: ['@clickhouse/client', 'chdb', 'node:'] },
  'storage/store/postgres': { folders: [...PORTS, 'boundary/leases'], packages: ['pg', 'node:'] },
  'storage/store/redis': { folders: [...PORTS, 'boundary/leases'], packages: ['ioredis', 'node:'] },
  'storage/store/sqlite': { folders: PORTS, packages: ['node:', 'node:sqlite'] },
  'storage/spool': { folders: PORTS, packages: ['node:'] },
  'storage/nodes': { folders: PORTS, packages: ['node:'] },
  'storage/recovery': {
    folders: [...PORTS, 'boundary/leases', 'storage/spool', 'storage/store/clickhouse', 'storage/store/sqlite'],
    packages: ['node:'],
  },
  'storage/backup': {
    folders: [...PORTS, 'storage/spool', 'storage/store/clickhouse', 'storage/store/sqlite'],
    packages: ['node:'],
  },

  limits: { folders: [...SHARED, 'boundary/leases'], packages: ['node:'] },

  'documents/opensla': { folders: [...PORTS, 'boundary/plan'], packages: ['yaml', ...AJV, 'node:'] },
  'documents/governance': {
    folders: [...DOCUMENTS, 'documents/governance/convert'],
    packages: ['yaml', '@seriousme/openapi-schema-validator', ...AJV, 'node:'],
  },
  'documents/governance/convert': {
    folders: [...BASE, 'foundation/json'],
    packages: ['@scalar/openapi-upgrader', 'node:'],
  },
  'documents/governance/serving': {
    folders: [...DOCUMENTS, 'boundary/schema', 'documents/governance', 'documents/governance/convert'],
    packages: ['node:'],
  },
  'documents/governance/containment': { folders: [...BASE, 'foundation/json'], packages: [] },
  'documents/governance/compare': {
    folders: [
      ...DOCUMENTS,
      ...['boundary/schema', 'documents/governance', 'documents/governance/containment'],
      ...['documents/governance/convert', 'documents/governance/serving'],
    ],
    packages: ['node:'],
  },
  'documents/governance/spectral': {
    folders: [...DOCUMENTS, 'documents/governance'],
    packages: ['@stoplight', 'node:'],
  },
  'documents/governance/lint': {
    folders: [
      ...DOCUMENTS,
      ...['foundation/jobs', 'documents/governance', 'documents/governance/compare', 'documents/governance/convert'],
      ...['documents/governance/serving', 'documents/governance/spectral'],
    ],
    packages: ['yaml', 'node:'],
  },

  // From the spool to the stores.
  'pipeline/service-level': { folders: STREAM, packages: ['node:'] },
  'pipeline/risk': { folders: STREAM, packages: ['rxjs', 'node:'] },
  'pipeline/metering': { folders: [...STREAM, 'pipeline/service-level'], packages: ['node:'] },
  'pipeline/stream': {
    folders: [...STREAM, 'pipeline/metering', 'pipeline/risk', 'pipeline/service-level'],
    packages: ['rxjs', 'node:'],
  },
  // The export of traces, metrics and logs.
  'pipeline/telemetry': {
    folders: [...BASE, 'foundation/settings', 'storage/spool'],
    packages: ['@opentelemetry', 'prom-client', 'undici', 'node:'],
  },

  // The path of a call. It imports nothing of the control plane.
  gateway: { folders: [...SHARED, ...GATEWAY], packages: ['node:'] },
  'gateway/routing': { folders: SHARED, packages: ['node:'] },
  'gateway/authentication': { folders: SHARED, packages: ['node:'] },
  'gateway/validation': { folders: [...SHARED, 'gateway/routing'], packages: [...AJV, 'node:'] },
  'gateway/backend': { folders: [...SHARED, 'gateway/connection'], packages: ['undici', 'node:'] },
  'gateway/headers': { folders: [...SHARED, 'gateway/connection'], packages: ['node:'] },
  'gateway/tracing': { folders: SHARED, packages: ['node:'] },
  'gateway/cors': { folders: [...SHARED, 'gateway/connection'], packages: ['node:'] },
  'gateway/connection': { folders: SHARED, packages: ['undici', 'node:'] },
  'gateway/messages': { folders: [...SHARED, 'limits', 'gateway/backend'], packages: ['node:'] },
  'gateway/call': { folders: [...SHARED, ...GATEWAY_BELOW_CALL], packages: ['node:'] },
  'gateway/websocket': {
    folders: [...SHARED, ...GATEWAY_BELOW_CALL, 'gateway/authentication', 'gateway/call'],
    packages: ['node:'],
  },
  'gateway/forwarding': {
    folders: [...SHARED, ...GATEWAY_BELOW_CALL, 'gateway/call', 'gateway/websocket'],
    packages: ['node:'],
  },
  'gateway/mcp': {
    folders: [
      ...[...SHARED, ...GATEWAY_BELOW_CALL, 'boundary/mcp'],
      ...['gateway/authentication', 'gateway/call', 'gateway/forwarding'],
    ],
    packages: ['node:'],
  },
  'gateway/oauth': { folders: [...SHARED, 'gateway/connection', 'gateway/cors'], packages: ['node:'] },
  'gateway/threads': { folders: [...SHARED, ...GATEWAY, 'gateway'], packages: ['node:'] },

  // Commands on resources.
  'control/command': { folders: PORTS, packages: ['node:'] },
  'control/approvals': { folders: COMMANDS, packages: ['node:'] },
  'control/subscriptions/document': { folders: COMMANDS, packages: ['node:'] },
  'control/publishing': { folders: [...PUBLISHING, 'documents/governance/lint'], packages: ['node:'] },
  'control/access': {
    folders: [...PUBLISHING, 'control/publishing', 'control/access/second-factor'],
    packages: ['node:'],
  },
  'control/access/second-factor': { folders: BASE, packages: ['otpauth', 'node:'] },
  'control/subscriptions': {
    folders: [...PUBLISHING, 'control/approvals', 'control/publishing', 'control/access'],
    packages: ['node:'],
  },
  'control/programmes': { folders: [...PUBLISHING, ...ACCESS, 'documents/governance/lint'], packages: ['node:'] },
  'control/service-levels': {
    folders: [...COMMANDS, 'pipeline/service-level', 'control/publishing'],
    packages: ['node:'],
  },
  'control/mutes': { folders: [...COMMANDS, 'control/access'], packages: ['node:'] },
  'control/attention': {
    folders: [...COMMANDS, ...ACCESS, 'control/subscriptions/document', 'control/webhooks'],
    packages: [],
  },
  'control/webhooks': {
    folders: [...COMMANDS, 'foundation/outbound', 'control/access'],
    packages: ['undici', 'node:'],
  },
  'control/identity': {
    folders: [...COMMANDS, 'foundation/json', 'foundation/outbound', 'control/access'],
    packages: ['jose', 'oauth4webapi', 'node:'],
  },

  // The API of the platform; its own metering; the console: its service, and the pages, which run in browsers.
  'interfaces/platform': {
    folders: [
      ...[...RESOURCES, 'control/attention', 'control/service-levels', 'documents/governance/lint'],
      ...['foundation/tls', 'boundary/mcp', 'storage/nodes', 'storage/spool'],
    ],
    packages: ['fastify', ...AJV, '@modelcontextprotocol/server', 'node:'],
  },
  'interfaces/platform/self-metering': {
    folders: [
      ...[...COMMANDS, 'storage/spool', 'limits', 'documents/opensla'],
      ...['control/access', 'interfaces/platform'],
    ],
    packages: ['node:'],
  },
  'interfaces/console-server': {
    folders: [...COMMANDS, 'foundation/json', 'control/access', 'control/identity'],
    packages: ['fastify', '@fastify/static', 'node:'],
  },
  'interfaces/console': {
    folders: ['foundation/domain', 'interfaces/platform', 'interfaces/cli', 'interfaces/console-server'],
    packages: ['preact', '@preact/signals', 'uplot', '@codemirror', '@lezer/highlight', 'yaml'],
  },
  // Commands on the data folder of a stopped service.
  'interfaces/maintenance': {
    folders: [
      ...[...PORTS, 'foundation/settings', 'pipeline/metering', 'control/access'],
      ...['storage/spool', 'storage/backup', 'storage/nodes', 'storage/recovery'],
      ...['storage/store/clickhouse', 'storage/store/postgres', 'storage/store/sqlite'],
    ],
    packages: ['node:'],
  },
  // The command line. Its gates run the rules of the service on this machine; the rest is a client of the public API.
  'interfaces/cli': {
    folders: [...BASE, 'interfaces/cli/gate', 'interfaces/cli/report'],
    // `node:sqlite` locks the file of contexts.
    packages: ['commander', 'eventsource-parser', 'undici', 'yaml', 'node:', 'node:sqlite'],
  },
  'interfaces/cli/report': { folders: ['foundation/domain', 'documents/governance/compare'], packages: ['node:'] },
  'interfaces/cli/bundle': { folders: ['foundation/json'], packages: ['node:'] },
  'interfaces/cli/gate': {
    folders: [
      ...[...BASE, 'foundation/json', 'interfaces/cli/bundle', 'interfaces/cli/report'],
      ...['documents/governance', 'documents/governance/compare', 'documents/governance/convert'],
      'documents/governance/lint',
    ],
    packages: ['node:'],
  },

  'app/onboarding': { folders: BASE, packages: ['node:'] },
  'app/settings': {
    folders: [...PORTS, 'foundation/settings', 'foundation/tls', 'app', 'app/onboarding'],
    packages: ['node:'],
  },
  // A backend for trying things out.
  'app/sample': { folders: [], packages: ['node:'] },
}
