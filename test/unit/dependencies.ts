/** What each folder of `src` may import; `architecture.test.ts` enforces it. */

export interface Row {
  /** Folders that may be imported, besides the folder itself. */
  readonly folders: readonly string[]
  /** npm packages; `node:` stands for the modules of Node except its database driver. */
  readonly packages: readonly string[]
}

const BASE = ['domain', 'runtime']
const PORTS = [...BASE, 'store']
/** What the gateway and the control plane have in common. */
const SHARED = [...PORTS, 'record', 'json', 'plan', 'schema', 'outbound', 'tls']
const FASTIFY = ['fastify']
const AJV = ['ajv', 'ajv-formats']

const COMMANDS = [...PORTS, 'plan', 'command']
const DOCUMENTS = [...PORTS, 'json', 'plan']
const PUBLISHING = [
  ...COMMANDS,
  'json',
  'jobs',
  'schema',
  'opensla',
  'subscriptions/document',
  'governance',
  'governance/compare',
  'governance/serving',
]
const ACCESS = ['approvals', 'publishing', 'access', 'subscriptions']
const RESOURCES = [...PUBLISHING, ...ACCESS, 'programmes', 'webhooks', 'mutes']

const GATEWAY_BELOW_CALL = [
  'gateway/routing',
  'gateway/limits',
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
const STREAM = [...PORTS, 'record', 'plan']

export const TABLE: Readonly<Record<string, Row>> = {
  // Leaves.
  domain: { folders: [], packages: [] },
  runtime: { folders: ['domain'], packages: ['pino', 'prom-client', 'negotiator', 'node:'] },
  json: { folders: BASE, packages: ['re2js', 'node:'] },
  plan: { folders: BASE, packages: ['node:'] },
  // JSON Schema as the gateway enforces it; documents are compared with the same validator.
  schema: { folders: [...BASE, 'json', 'plan'], packages: [...AJV, 'node:'] },
  // The certificates of this service.
  tls: { folders: [...BASE, 'plan'], packages: ['node:'] },
  outbound: { folders: BASE, packages: ['undici', 'node:'] },
  // Tools from operations, for the endpoints of the gateway and of the platform.
  mcp: { folders: [...BASE, 'json', 'plan'], packages: ['node:'] },
  jobs: { folders: BASE, packages: ['node:'] },

  // Stores and the spool.
  store: { folders: BASE, packages: ['node:'] },
  'store/clickhouse': { folders: PORTS, packages: ['@clickhouse/client', 'chdb', 'node:'] },
  'store/postgres': { folders: [...PORTS, 'leases'], packages: ['pg', 'node:'] },
  'store/sqlite': { folders: PORTS, packages: ['node:', 'node:sqlite'] },
  record: { folders: PORTS, packages: ['node:'] },
  recovery: { folders: [...PORTS, 'leases', 'record', 'store/clickhouse', 'store/sqlite'], packages: ['node:'] },
  backup: { folders: [...PORTS, 'record', 'store/clickhouse', 'store/sqlite'], packages: ['node:'] },

  // The gateway: the path of a call. It imports nothing of the control plane.
  'gateway/routing': { folders: SHARED, packages: ['node:'] },
  'gateway/limits': { folders: [...SHARED, 'leases'], packages: ['node:'] },
  'gateway/authentication': { folders: SHARED, packages: ['node:'] },
  'gateway/validation': { folders: [...SHARED, 'gateway/routing'], packages: [...AJV, 'node:'] },
  'gateway/backend': { folders: [...SHARED, 'gateway/connection'], packages: ['undici', 'node:'] },
  'gateway/headers': { folders: [...SHARED, 'gateway/connection'], packages: ['node:'] },
  'gateway/tracing': { folders: SHARED, packages: ['node:'] },
  'gateway/cors': { folders: [...SHARED, 'gateway/connection'], packages: ['node:'] },
  'gateway/connection': { folders: SHARED, packages: ['undici', 'node:'] },
  'gateway/messages': { folders: [...SHARED, 'gateway/limits', 'gateway/backend'], packages: ['node:'] },
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
    folders: [...SHARED, 'mcp', ...GATEWAY_BELOW_CALL, 'gateway/authentication', 'gateway/call', 'gateway/forwarding'],
    packages: ['node:'],
  },
  'gateway/oauth': { folders: [...SHARED, 'gateway/connection', 'gateway/cors'], packages: ['node:'] },
  gateway: { folders: [...SHARED, ...GATEWAY], packages: ['node:'] },
  'gateway/threads': { folders: [...SHARED, ...GATEWAY, 'gateway'], packages: ['node:'] },

  // The stream: from the spool to the stores.
  'service-level': { folders: [...STREAM, 'command', 'publishing'], packages: ['node:'] },
  risk: { folders: STREAM, packages: ['rxjs', 'node:'] },
  metering: { folders: [...STREAM, 'service-level'], packages: ['node:'] },
  stream: { folders: [...STREAM, 'metering', 'risk', 'service-level'], packages: ['rxjs', 'node:'] },

  // Documents.
  opensla: { folders: [...PORTS, 'plan'], packages: ['yaml', ...AJV, 'node:'] },
  'governance/convert': { folders: [...BASE, 'json'], packages: ['@scalar/openapi-upgrader', 'node:'] },
  governance: {
    folders: [...DOCUMENTS, 'governance/convert'],
    packages: ['yaml', '@seriousme/openapi-schema-validator', ...AJV, 'node:'],
  },
  'governance/serving': { folders: [...DOCUMENTS, 'schema', 'governance', 'governance/convert'], packages: ['node:'] },
  'governance/containment': { folders: [...BASE, 'json'], packages: [] },
  'governance/compare': {
    folders: [
      ...DOCUMENTS,
      'schema',
      'governance',
      'governance/containment',
      'governance/convert',
      'governance/serving',
    ],
    packages: ['node:'],
  },
  'governance/spectral': { folders: [...DOCUMENTS, 'governance'], packages: ['@stoplight', 'node:'] },
  'governance/lint': {
    folders: [
      ...DOCUMENTS,
      'jobs',
      'governance',
      'governance/compare',
      'governance/convert',
      'governance/serving',
      'governance/spectral',
    ],
    packages: ['yaml', 'node:'],
  },

  // Several nodes.
  nodes: { folders: PORTS, packages: ['node:'] },
  leases: { folders: BASE, packages: ['node:'] },
  'store/redis': { folders: [...PORTS, 'leases'], packages: ['ioredis', 'node:'] },

  // Commands on resources.
  command: { folders: PORTS, packages: ['node:'] },
  approvals: { folders: COMMANDS, packages: ['node:'] },
  'subscriptions/document': { folders: COMMANDS, packages: ['node:'] },
  publishing: { folders: [...PUBLISHING, 'governance/lint'], packages: ['node:'] },
  'access/second-factor': { folders: BASE, packages: ['otpauth', 'node:'] },
  access: { folders: [...PUBLISHING, 'publishing', 'access/second-factor'], packages: ['node:'] },
  subscriptions: { folders: [...PUBLISHING, 'approvals', 'publishing', 'access'], packages: ['node:'] },
  programmes: { folders: [...PUBLISHING, ...ACCESS, 'governance/lint'], packages: ['node:'] },
  mutes: { folders: [...COMMANDS, 'access'], packages: ['node:'] },
  attention: { folders: [...COMMANDS, ...ACCESS, 'subscriptions/document', 'webhooks'], packages: [] },
  webhooks: { folders: [...COMMANDS, 'access', 'outbound'], packages: ['undici', 'node:'] },
  identity: { folders: [...COMMANDS, 'json', 'access', 'outbound'], packages: ['jose', 'oauth4webapi', 'node:'] },

  // What the outside sees.
  platform: {
    folders: [...RESOURCES, 'attention', 'mcp', 'nodes', 'record', 'tls', 'service-level', 'governance/lint'],
    packages: [...FASTIFY, ...AJV, '@modelcontextprotocol/server', 'node:'],
  },
  // The console: its service, and the pages, which run in browsers.
  'console-server': {
    folders: [...COMMANDS, 'json', 'access', 'identity'],
    packages: ['fastify', '@fastify/static', 'node:'],
  },
  console: {
    folders: ['domain', 'platform', 'cli', 'console-server'],
    packages: ['preact', '@preact/signals', 'uplot', '@codemirror', '@lezer/highlight', 'yaml'],
  },
  'self-metering': {
    folders: [...COMMANDS, 'record', 'opensla', 'access', 'gateway/limits', 'platform'],
    packages: ['node:'],
  },
  // The export of traces, metrics and logs.
  telemetry: {
    folders: [...BASE, 'record', 'settings'],
    packages: ['@opentelemetry', 'prom-client', 'undici', 'node:'],
  },
  onboarding: { folders: ['domain', 'runtime'], packages: ['node:'] },
  settings: { folders: [...PORTS, 'onboarding', 'tls', 'config.ts'], packages: ['node:'] },
  maintenance: {
    folders: [
      ...PORTS,
      ...['record', 'access', 'backup', 'metering', 'nodes', 'recovery', 'settings'],
      ...['store/clickhouse', 'store/postgres', 'store/sqlite'],
    ],
    packages: ['node:'],
  },
  // A backend for trying things out.
  sample: { folders: [], packages: ['node:'] },
  // The command line. Its gates run the rules of the service on this machine; the rest is a client of the public API.
  'cli/report': { folders: ['domain', 'governance/compare'], packages: ['node:'] },
  'cli/bundle': { folders: ['json'], packages: ['node:'] },
  'cli/gate': {
    folders: [
      ...BASE,
      'json',
      'governance',
      'governance/compare',
      'governance/convert',
      'governance/lint',
      'cli/bundle',
      'cli/report',
    ],
    packages: ['node:'],
  },
  cli: {
    folders: [...BASE, 'cli/gate', 'cli/report'],
    // `node:sqlite` locks the file of contexts.
    packages: ['commander', 'eventsource-parser', 'undici', 'yaml', 'node:', 'node:sqlite'],
  },
}
