/**
 * The direction of dependencies, as a table: what each room of `src` may import.
 *
 * A room is a folder of the table; a folder below it that has no line of its own belongs to it. A
 * folder that belongs to no room fails, so does any circle of files, type imports included. Rooms on
 * one height do not know each other: they meet in `app.ts`.
 */

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

interface Room {
  /** Rooms of ours. */
  readonly rooms: readonly string[]
  /** Packages, and `node:` for what Node brings along but its database driver. */
  readonly packages: readonly string[]
}

const GROUND = ['domain', 'runtime']
const PORTS = [...GROUND, 'store']
const WORDS = [...PORTS, 'record', 'opensla', 'json', 'plan', 'command']
const RULES = [...WORDS, 'approvals', 'subscriptions/document', 'governance', 'publishing', 'access', 'catalogue']
const DESKS = [...RULES, 'subscriptions', 'programmes', 'webhooks', 'service-level']
const SHARED = [...PORTS, 'record', 'json', 'plan', 'outbound']
const BELOW_CALL = [
  'gateway/routing',
  'gateway/limits',
  'gateway/validation',
  'gateway/backend',
  'gateway/headers',
  'gateway/connection',
  'gateway/messages',
]
const STAGES = [...BELOW_CALL, 'gateway/authentication', 'gateway/call', 'gateway/forwarding']
const FASTIFY = ['fastify', '@fastify/formbody', 'fastify-plugin']
const AJV = ['ajv', 'ajv-formats']

const TABLE: Readonly<Record<string, Room>> = {
  domain: { rooms: [], packages: [] },
  runtime: { rooms: ['domain'], packages: ['pino', 'prom-client', 'node:'] },
  // Documents as JSON, and their patterns on a linear engine.
  json: { rooms: GROUND, packages: ['re2js', 'node:'] },
  // What the control plane compiles and the gateway executes: types and codecs.
  plan: { rooms: GROUND, packages: ['node:'] },
  store: { rooms: GROUND, packages: ['node:'] },
  'store/clickhouse': { rooms: PORTS, packages: ['@clickhouse/client', 'chdb', 'node:'] },
  'store/sqlite': { rooms: PORTS, packages: ['node:', 'node:sqlite'] },
  'store/memory': { rooms: PORTS, packages: ['node:'] },
  record: { rooms: PORTS, packages: ['node:'] },
  // What every command on a resource needs: the state machine of a document, keyed mutex, due times, pages, events, audit log.
  command: { rooms: PORTS, packages: ['node:'] },
  // One decision on an access, a change or a programme.
  approvals: { rooms: [...PORTS, 'command'], packages: ['node:'] },
  // What the registry keeps of a subscription; who may use an API is asked below `subscriptions`, too.
  'subscriptions/document': { rooms: [...PORTS, 'command'], packages: ['node:'] },
  opensla: { rooms: [...PORTS, 'record', 'plan'], packages: ['yaml', ...AJV, 'node:'] },
  // Documents read; what is found in them is a matter of the rooms within.
  governance: {
    rooms: [...WORDS],
    packages: ['yaml', '@seriousme/openapi-schema-validator', 'node:'],
  },
  'governance/compare': { rooms: [...WORDS, 'governance'], packages: ['node:'] },
  'governance/spectral': { rooms: [...WORDS, 'governance'], packages: ['@stoplight', 'node:'] },
  'governance/lint': {
    rooms: [...WORDS, 'governance', 'governance/compare', 'governance/spectral'],
    packages: ['yaml', 'node:'],
  },
  // APIs, documents, proxies with their revisions, products; documents compiled to plans.
  publishing: {
    rooms: [...WORDS, 'subscriptions/document', 'governance', 'governance/compare'],
    packages: ['node:'],
  },
  // Tenants, people, consumers, credentials and what they grant.
  access: { rooms: [...WORDS, 'subscriptions/document', 'publishing'], packages: ['node:'] },
  // Who may call what, how much of it, and who has to agree.
  subscriptions: { rooms: RULES, packages: ['node:'] },
  // From a document to a running API that complies.
  programmes: { rooms: [...RULES, 'governance/lint', 'subscriptions'], packages: ['node:'] },
  // A data folder at startup: what is missing, what disagrees, what can be repaired.
  recovery: { rooms: [...WORDS, 'store/clickhouse', 'store/sqlite'], packages: ['node:'] },
  // Calls to addresses that customers name.
  outbound: { rooms: GROUND, packages: ['undici', 'node:'] },
  'gateway/routing': { rooms: SHARED, packages: ['node:'] },
  'gateway/limits': { rooms: SHARED, packages: ['node:'] },
  'gateway/authentication': { rooms: SHARED, packages: ['node:'] },
  'gateway/validation': { rooms: [...SHARED, 'gateway/routing'], packages: [...AJV, 'node:'] },
  // Connections to backends, shared fairly, and their health.
  'gateway/backend': { rooms: [...SHARED, 'command'], packages: ['undici', 'node:'] },
  'gateway/headers': { rooms: SHARED, packages: ['undici', 'node:'] },
  // The client's side: slow uploads, slow readers, responses in order.
  'gateway/connection': { rooms: SHARED, packages: ['node:'] },
  // What the main thread and the gateway threads send each other.
  'gateway/messages': { rooms: [...SHARED, 'gateway/limits', 'gateway/backend'], packages: ['node:'] },
  // One call with all that its stages know of it.
  'gateway/call': { rooms: [...SHARED, ...BELOW_CALL], packages: ['node:'] },
  'gateway/forwarding': { rooms: [...SHARED, ...BELOW_CALL, 'gateway/call'], packages: ['undici', 'node:'] },
  gateway: { rooms: [...SHARED, ...STAGES], packages: ['node:'] },
  'gateway/threads': { rooms: [...SHARED, ...STAGES, 'gateway'], packages: ['node:'] },
  identity: { rooms: [...RULES, 'outbound'], packages: [...FASTIFY, 'jose', 'node:'] },
  platform: { rooms: [...DESKS, 'governance/lint'], packages: [...FASTIFY, ...AJV, 'node:'] },
  // What providers promise, measured and judged.
  'service-level': { rooms: [...WORDS, 'publishing'], packages: ['node:'] },
  // Risks: rules, episodes, the live feed.
  risk: { rooms: WORDS, packages: ['rxjs', 'node:'] },
  // Records to line items, exactly once.
  metering: { rooms: [...WORDS, 'service-level'], packages: ['node:'] },
  // The topology from the spool to the stores.
  stream: { rooms: [...WORDS, 'metering', 'risk', 'service-level'], packages: ['rxjs', 'node:'] },
  webhooks: { rooms: [...RULES, 'outbound'], packages: ['undici', 'node:'] },
  // Copies of a data folder: of a running service, and back.
  backup: { rooms: [...PORTS, 'record', 'store/sqlite', 'store/clickhouse'], packages: ['node:'] },
  // Clients of the public API and what stands behind the gateway: no door into the house.
  sample: { rooms: [], packages: ['node:'] },
  cli: { rooms: [], packages: ['undici', 'node:'] },
}

/** Of the files on top of `src` everything may be used; nobody below may use them. */
const TOP = '.'
const LINES_MAX = 300
const LINES_MEDIAN_MAX = 150

const src = join(import.meta.dirname, '../../src')
const files = globSync('**/*.ts', { cwd: src }).sort()
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

/** The room of a path: the longest line of the table that it lies in. */
function roomOf(path: string): string | undefined {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) if (folder in TABLE) return folder
  return undefined
}

const isOurs = (name: string): boolean => known.has(name) || name.startsWith('../') || roomOf(name) !== undefined

function isAllowed(file: string, name: string): boolean {
  if (dirname(file) === TOP) return true
  const home = roomOf(file)
  if (home === undefined) return false
  const room = TABLE[home] ?? { rooms: [], packages: [] }
  // XState is for state machines, one to a file.
  if (name === 'xstate' && file.endsWith('-machine.ts')) return true
  if (!isOurs(name)) return room.packages.some((allowed) => isOfPackage(name, allowed))
  const other = roomOf(name)
  return other !== undefined && (other === home || room.rooms.includes(other))
}

function isOfPackage(name: string, allowed: string): boolean {
  if (allowed === 'node:') return name.startsWith('node:') && name !== 'node:sqlite'
  return name === allowed || name.startsWith(`${allowed}/`)
}

function findCircles(): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) return void circles.push([...path.slice(start), file].join(' → '))
    if (done.has(file)) return
    for (const next of importsOf(file).filter((name) => known.has(name))) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  return circles
}

const lines = files.map((file) => ({ file, count: (textOf.get(file) ?? '').trimEnd().split('\n').length }))
const median = lines.map(({ count }) => count).sort((a, b) => a - b)[Math.floor(lines.length / 2)] ?? 0

describe('architecture', () => {
  it('knows the room of every file', () => {
    expect(files.filter((file) => dirname(file) !== TOP && roomOf(file) === undefined)).toEqual([])
  })

  it('lets each room import only rooms below it, and packages only in their rooms', () => {
    const breaches = files.flatMap((file) =>
      importsOf(file)
        .filter((name) => !isAllowed(file, name))
        .map((name) => `${file} imports ${name}`),
    )
    expect(breaches).toEqual([])
  })

  it('has a table without circles: no room is above itself', () => {
    const above = (room: string, seen: readonly string[]): boolean =>
      seen.includes(room) || (TABLE[room]?.rooms ?? []).some((below) => above(below, [...seen, room]))
    expect(Object.keys(TABLE).filter((room) => above(room, []))).toEqual([])
  })

  it('has no circle of files', () => {
    expect(findCircles()).toEqual([])
  })

  it('names each file after one idea', () => {
    expect(files.filter((file) => /(^|\/)(index|types|utils?|helpers?)\.ts$/.test(file))).toEqual([])
  })

  it(`keeps files small: none over ${LINES_MAX} lines, the median is ${median}`, () => {
    expect(lines.filter(({ count }) => count > LINES_MAX)).toEqual([])
    expect(median).toBeLessThanOrEqual(LINES_MEDIAN_MAX)
  })
})
