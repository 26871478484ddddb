/**
 * The direction of dependencies, as a table: what each folder of `src` may import.
 *
 * A folder without a row of its own belongs to the nearest folder above it that has one. A file outside every row fails, and so
 * does a cycle of files, type imports included. Folders that do not list each other meet in `app/`.
 */

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

interface Row {
  /** Folders that may be imported, besides the folder itself. */
  readonly folders: readonly string[]
  /** npm packages; `node:` stands for the modules of Node except its database driver. */
  readonly packages: readonly string[]
}

const BASE = ['domain', 'runtime']
const PORTS = [...BASE, 'store']
/** What the gateway and the control plane have in common. */
const SHARED = [...PORTS, 'record', 'json', 'plan', 'schema', 'outbound']
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
  'gateway/messages',
]
const GATEWAY = [...GATEWAY_BELOW_CALL, 'gateway/authentication', 'gateway/call', 'gateway/forwarding', 'gateway/mcp']
const STREAM = [...PORTS, 'record', 'plan']

const TABLE: Readonly<Record<string, Row>> = {
  // Leaves.
  domain: { folders: [], packages: [] },
  runtime: { folders: ['domain'], packages: ['pino', 'prom-client', 'negotiator', 'node:'] },
  json: { folders: BASE, packages: ['re2js', 'node:'] },
  plan: { folders: BASE, packages: ['node:'] },
  // JSON Schema as the gateway enforces it; documents are compared with the same validator.
  schema: { folders: [...BASE, 'json', 'plan'], packages: [...AJV, 'node:'] },
  outbound: { folders: BASE, packages: ['undici', 'node:'] },
  // Tools from operations, for the endpoints of the gateway and of the platform.
  mcp: { folders: [...BASE, 'json', 'plan'], packages: ['node:'] },
  jobs: { folders: BASE, packages: ['node:'] },
  leases: { folders: BASE, packages: ['node:'] },

  // Stores and the spool.
  store: { folders: BASE, packages: ['node:'] },
  'store/clickhouse': { folders: PORTS, packages: ['@clickhouse/client', 'chdb', 'node:'] },
  'store/postgres': { folders: PORTS, packages: ['pg', 'node:'] },
  'store/redis': { folders: [...PORTS, 'leases'], packages: ['ioredis', 'node:'] },
  'store/sqlite': { folders: PORTS, packages: ['node:', 'node:sqlite'] },
  record: { folders: PORTS, packages: ['node:'] },
  recovery: { folders: [...PORTS, 'record', 'store/clickhouse', 'store/sqlite'], packages: ['node:'] },
  backup: { folders: [...PORTS, 'record', 'store/clickhouse', 'store/sqlite'], packages: ['node:'] },

  // The gateway: the path of a call. It imports nothing of the control plane.
  'gateway/routing': { folders: SHARED, packages: ['node:'] },
  'gateway/limits': { folders: SHARED, packages: ['node:'] },
  'gateway/authentication': { folders: SHARED, packages: ['node:'] },
  'gateway/validation': { folders: [...SHARED, 'gateway/routing'], packages: [...AJV, 'node:'] },
  'gateway/backend': { folders: SHARED, packages: ['undici', 'node:'] },
  'gateway/headers': { folders: SHARED, packages: ['undici', 'node:'] },
  'gateway/connection': { folders: SHARED, packages: ['node:'] },
  'gateway/messages': { folders: [...SHARED, 'gateway/limits', 'gateway/backend'], packages: ['node:'] },
  'gateway/call': { folders: [...SHARED, ...GATEWAY_BELOW_CALL], packages: ['node:'] },
  'gateway/forwarding': { folders: [...SHARED, ...GATEWAY_BELOW_CALL, 'gateway/call'], packages: ['undici', 'node:'] },
  'gateway/mcp': {
    folders: [...SHARED, 'mcp', ...GATEWAY_BELOW_CALL, 'gateway/authentication', 'gateway/call', 'gateway/forwarding'],
    packages: ['node:'],
  },
  'gateway/oauth': { folders: SHARED, packages: [...FASTIFY, 'node:'] },
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
    folders: [...RESOURCES, 'attention', 'mcp', 'record', 'service-level', 'governance/lint'],
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
  onboarding: { folders: ['domain', 'runtime'], packages: ['node:'] },
  settings: { folders: [...BASE, 'onboarding', 'config.ts'], packages: ['node:'] },
  maintenance: {
    folders: [...PORTS, 'record', 'access', 'backup', 'recovery', 'settings', 'store/clickhouse', 'store/sqlite'],
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
    folders: ['domain', 'cli/gate', 'cli/report'],
    // `node:sqlite` locks the file of contexts.
    packages: ['commander', 'eventsource-parser', 'undici', 'yaml', 'node:', 'node:sqlite'],
  },
}

/** Composition: may import every folder, and no other folder may import it. */
const COMPOSITION = 'app'
/** The only files at the top of `src`. They may import everything; only `config.ts` may be imported. */
const ENTRY_POINTS = ['config.ts', 'main.ts', 'thread.ts']
const LINES_MAX = 300
const LINES_MEDIAN_MAX = 150

const src = join(import.meta.dirname, '../../src')
const files = globSync('**/*.{ts,tsx}', { cwd: src }).sort()
const known = new Set(files)
const textOf = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))

/** Static, re-exported, dynamic and type imports: paths of ours relative to `src`, packages by name. */
function importsOf(file: string): string[] {
  const text = textOf.get(file) ?? ''
  const names = [
    ...text.matchAll(/^(?:import|export)\s(?:[^'";]*?\bfrom )?'([^']+)'/gm),
    ...text.matchAll(/\bimport\(\s*'([^']+)'/g),
  ].map(([, name]) => name ?? '')
  return names.map((name) => (name.startsWith('.') ? relative(src, join(src, dirname(file), name)) : name))
}

/** The row of a path: that of the nearest folder that has one. */
function rowOf(path: string): string | undefined {
  if (path === 'config.ts') return path
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    if (folder in TABLE || folder === COMPOSITION) return folder
  }
  return undefined
}

const isOurs = (name: string): boolean => known.has(name) || name.startsWith('../') || rowOf(name) !== undefined

function isAllowed(file: string, name: string): boolean {
  const home = rowOf(file)
  if (ENTRY_POINTS.includes(file) || home === COMPOSITION) return true
  if (home === undefined) return false
  // XState is for state machines, one to a file.
  if (name === 'xstate' && file.endsWith('-machine.ts')) return true
  const { folders, packages } = TABLE[home] ?? { folders: [], packages: [] }
  if (!isOurs(name)) return packages.some((allowed) => isOfPackage(name, allowed))
  const other = rowOf(name)
  return other !== undefined && (other === home || folders.includes(other))
}

function isOfPackage(name: string, allowed: string): boolean {
  if (allowed === 'node:') return name.startsWith('node:') && name !== 'node:sqlite'
  return name === allowed || name.startsWith(`${allowed}/`)
}

function findCycles(): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) return void cycles.push([...path.slice(start), file].join(' → '))
    if (done.has(file)) return
    for (const next of importsOf(file).filter((name) => known.has(name))) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  return cycles
}

const lines = files.map((file) => ({ file, count: (textOf.get(file) ?? '').trimEnd().split('\n').length }))
const median = lines.map(({ count }) => count).sort((a, b) => a - b)[Math.floor(lines.length / 2)] ?? 0

describe('architecture', () => {
  it('has a row for the folder of every file', () => {
    const outside = files.filter((file) => !ENTRY_POINTS.includes(file) && rowOf(file) === undefined)
    expect(outside).toEqual([])
  })

  it('lets each folder import only what its row lists', () => {
    const breaches = files.flatMap((file) =>
      importsOf(file)
        .filter((name) => !isAllowed(file, name))
        .map((name) => `${file} imports ${name}`),
    )
    expect(breaches).toEqual([])
  })

  it('has no cycle of folders', () => {
    const reaches = (folder: string, seen: readonly string[]): boolean =>
      seen.includes(folder) || (TABLE[folder]?.folders ?? []).some((below) => reaches(below, [...seen, folder]))
    expect(Object.keys(TABLE).filter((folder) => reaches(folder, []))).toEqual([])
  })

  it('has no cycle of files', () => {
    expect(findCycles()).toEqual([])
  })

  it('names each file after one idea', () => {
    expect(files.filter((file) => /(^|\/)(index|types|utils?|helpers?)\.ts$/.test(file))).toEqual([])
  })

  it(`keeps files small: none over ${LINES_MAX} lines, the median is ${median}`, () => {
    expect(lines.filter(({ file, count }) => count > LINES_MAX && file !== 'console/texts.ts')).toEqual([])
    expect(median).toBeLessThanOrEqual(LINES_MEDIAN_MAX)
  })
})
