/**
 * Parts of a data folder that do not belong together: an older copy of one file beside newer ones of the others, parts that are
 * missing, rows that are missing. The bill of every folder that starts is exact; every other one is refused with a sentence.
 */

import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { foldersIn } from '../../src/record/spool-folder.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const SRC = join(import.meta.dirname, '../../src')
const CALLS = 5

let folder: string
let backend: LedgerBackend
/** Copies of one folder, in the order of time: `first` was stopped, the later ones were killed. */
const copies = { first: '', second: '', third: '' }
/** What each copy has to bill. */
const billed = { first: CALLS, second: 2 * CALLS, third: 4 * CALLS }
const opened: Service[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-agreement-'))
  backend = await startLedgerBackend()
  const service = await createService({ args: ['--empty'], dataDir: join(folder, 'data') })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  const callers = [await enrol(service, 'ledger-v1', { name: 'Ada' })]
  await call(service, callers, 1)
  await service.stop()
  copies.first = copy('data', 'first')

  await service.start()
  callers.push(await enrol(service, 'ledger-v1', { name: 'Bob' }))
  await call(service, callers, 2)
  // No process writes while it is copied, and the same process goes on afterwards.
  process.kill(service.pid(), 'SIGSTOP')
  copies.second = copy('data', 'second')
  process.kill(service.pid(), 'SIGCONT')
  callers.push(await enrol(service, 'ledger-v1', { name: 'Cyd' }))
  // What is billed of a flush is seen before the checkpoint moves: after the second one the first is committed.
  await call(service, callers, 3)
  await call(service, callers, 4)
  await service.kill()
  copies.third = copy('data', 'third')
})

afterEach(async () => {
  for (const service of opened.splice(0)) await service.remove()
})

afterAll(async () => {
  await backend.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The latest caller calls until the bill of all is `CALLS` a round. */
async function call(service: Service, callers: readonly Enrolled[], rounds: number): Promise<void> {
  const { apiKey } = callers.at(-1)!
  for (let number = 0; number < CALLS; number++) {
    const response = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers: { 'x-api-key': apiKey } })
    expect(response.status).toBe(200)
  }
  while ((await billOf(service)) < rounds * CALLS);
}

async function billOf(service: Service): Promise<number> {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

function copy(from: string, to: string): string {
  cpSync(join(folder, from), join(folder, to), { recursive: true, verbatimSymlinks: true })
  return join(folder, to)
}

let number = 0

/** The third copy, with some of its parts replaced by those of another one. */
function mixed(parts: readonly string[] = [], from: keyof typeof copies = 'first'): string {
  const dataDir = copy('third', `mixed-${++number}`)
  for (const part of parts) {
    rmSync(join(dataDir, part), { recursive: true, force: true })
    const source = join(copies[from], part)
    if (existsSync(source)) cpSync(source, join(dataDir, part), { recursive: true, verbatimSymlinks: true })
  }
  return dataDir
}

const database = (name: string) => [`${name}.db`, `${name}.db-wal`, `${name}.db-shm`]

async function started(dataDir: string, env: Record<string, string> = {}): Promise<Service> {
  const service = await createService({ args: ['--empty'], dataDir, env })
  opened.push(service)
  await service.start()
  return service
}

/** The one line of a start that is refused with exit code 2. */
async function refusal(dataDir: string, env: Record<string, string> = {}): Promise<string> {
  const failure = await started(dataDir, env).then(
    () => new Error('it started'),
    (cause: Error) => cause,
  )
  const [first, ...lines] = failure.message.trim().split('\n')
  expect(first).toBe('the service ended with 2')
  expect(lines.filter((line) => line.startsWith('tollgate: '))).toHaveLength(1)
  return lines.find((line) => line.startsWith('tollgate: ')) ?? ''
}

function recover(dataDir: string, ...parts: readonly string[]): string {
  const args = ['recover', ...parts.flatMap((part) => ['--accept-loss', part]), '--data-dir', dataDir]
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(SRC, 'cli/main.ts'), ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })
  // The embedded engine writes its own errors there, too.
  expect([status, stderr.match(/^tollgate: .*/m)]).toEqual([0, null])
  return stdout
}

const NOT_FOUND = 'nothing in the audit log'

async function recorded(service: Service, part: string): Promise<string> {
  const { items } = await service.platform.get<{ items: readonly { after: { part: string; loss: string } }[] }>(
    '/v1/audit?kind=recovery',
  )
  return items.find(({ after }) => after.part === part)?.after.loss ?? NOT_FOUND
}

describe('a data folder that is whole', () => {
  it.each(['first', 'second', 'third'] as const)('starts and bills what it holds: %s', async (name) => {
    const service = await started(copy(name, `whole-${name}`))
    expect(await billOf(service)).toBe(billed[name])
  })
})

describe('an older checkpoint.db', () => {
  it.each(['first', 'second'] as const)('is repaired from the store, and the bill is exact: %s', async (name) => {
    const service = await started(mixed(database('checkpoint'), name))
    expect(service.errors()).toContain('continuing from the position recorded in the store')
    await service.stop()
    await service.start()
    expect(await billOf(service)).toBe(billed.third)
    expect(service.errors()).not.toContain('is an older copy')
  })

  it('is refused if it is that of another folder', async () => {
    const other = await started(mkdtempSync(join(tmpdir(), 'tollgate-other-')))
    await other.stop()
    const dataDir = mixed()
    for (const file of [...database('checkpoint'), 'checkpoint.mark']) {
      rmSync(join(dataDir, file), { force: true })
      if (existsSync(join(other.dataDir, file))) cpSync(join(other.dataDir, file), join(dataDir, file))
    }
    expect(await refusal(dataDir)).toContain('checkpoint.db belongs to another data folder')
    recover(dataDir, 'checkpoint')
    const service = await started(dataDir)
    expect(await billOf(service)).toBe(billed.third)
    expect(await recorded(service, 'checkpoint')).toContain('the last one in the store')
  })
})

describe('an older store', () => {
  it('is filled again from the spool if the spool holds its calls, and the bill is exact', async () => {
    const service = await started(mixed(['clickhouse'], 'second'))
    expect(service.errors()).toContain('storing them again from the spool')
    await service.stop()
    await service.start()
    expect(await billOf(service)).toBe(billed.third)
  })

  it('is refused if the spool does not hold its calls any more, until the loss is accepted', async () => {
    const dataDir = mixed(['clickhouse'], 'first')
    releaseOldSegments(dataDir)
    expect(await refusal(dataDir)).toMatch(
      /the store is behind checkpoint\.db by \d+ flushes .*recover --accept-loss store/,
    )
    recover(dataDir, 'store')
    const service = await started(dataDir)
    // What was still in the spool when the process was killed is billed; what was lost is not.
    const bill = await billOf(service)
    expect(bill).toBeGreaterThanOrEqual(billed.first)
    expect(bill).toBeLessThan(billed.third)
    expect(await recorded(service, 'store')).toContain('the store is behind')
  })

  it('is refused if rows of it are missing, and the sentence says how many', async () => {
    const dataDir = mixed()
    const removed = removeParts(dataDir, 'line_items')
    expect(removed).toBeGreaterThan(0)
    expect(await refusal(dataDir)).toMatch(/rows of the store are missing: \d+ of \d+ rows of line_items in \d{4}-\d\d/)
    recover(dataDir, 'store')
    await started(dataDir)
  })
})

describe('a store that cannot be read', () => {
  it.each([
    ['its notes', 'flushes', /all_\d+_\d+_\d+$/],
    ['its definition of a table', '', /line_items\.sql$/],
  ])('is refused, and accepted without what is damaged: %s', async (_, table, name) => {
    const dataDir = mixed()
    damage(dataDir, table, name)
    expect(await refusal(dataDir)).toMatch(/(the store cannot be read|cannot be opened).*recover --accept-loss store/)
    recover(dataDir, 'store')
    await started(dataDir)
  })
})

/** Overwrites the data of every part of a table, or its definition. */
function damage(dataDir: string, table: string, name: RegExp): void {
  const metadata = join(dataDir, 'clickhouse/metadata/default')
  const folder = table === '' ? metadata : join(dataDir, 'clickhouse/data/default', table)
  const found = readdirSync(folder).filter((entry) => name.test(entry))
  expect(found.length).toBeGreaterThan(0)
  for (const entry of found) {
    const path = table === '' ? join(folder, entry) : join(folder, entry, 'data.bin')
    writeFileSync(path, Buffer.alloc(statSync(path).size, 'garbage'))
  }
}

/** Removes all segments but the last of each source, as the service does when nothing needs them any more. */
function releaseOldSegments(dataDir: string): void {
  for (const source of foldersIn(join(dataDir, 'spool'))) {
    const segments = readdirSync(join(dataDir, 'spool', source)).sort()
    for (const segment of segments.slice(0, -1)) rmSync(join(dataDir, 'spool', source, segment))
  }
}

/** Every part of a table of the embedded store. */
function removeParts(dataDir: string, table: string): number {
  const tableFolder = join(dataDir, 'clickhouse/data/default', table)
  const parts = readdirSync(tableFolder).filter((name) => /^\d{6}_/.test(name))
  for (const part of parts) rmSync(join(tableFolder, part), { recursive: true })
  return parts.length
}

describe('an older registry.db', () => {
  it('is refused by its mark, and without the mark by what checkpoint and store know of it', async () => {
    const dataDir = mixed(database('registry'))
    expect(await refusal(dataDir)).toMatch(/registry\.db lacks its last \d+ changes.*recover --accept-loss registry/)
    rmSync(join(dataDir, 'registry.mark'))
    expect(await refusal(dataDir)).toMatch(/registry\.db lacks its last \d+ changes.*recover --accept-loss registry/)
    recover(dataDir, 'registry')
    const service = await started(dataDir)
    expect(await billOf(service)).toBe(billed.third)
  })

  it('is refused with a master key that does not open it', async () => {
    expect(await refusal(mixed(), { MASTER_KEY: 'ab'.repeat(32) })).toContain(
      'the master key does not open this data folder',
    )
  })
})

describe('a part that is missing', () => {
  it.each([
    ['registry.db', 'registry'],
    ['checkpoint.db', 'checkpoint'],
    ['clickhouse', 'store'],
    ['spool', 'spool'],
    ['master.key', 'registry'],
  ])('refuses the start and names the command that accepts the loss: %s', async (file, part) => {
    const dataDir = mixed()
    rmSync(join(dataDir, file), { recursive: true })
    const sentence = await refusal(dataDir)
    expect(sentence).toContain(`${file}`)
    expect(sentence).toContain(`npx tollgate recover --accept-loss ${part} --data-dir ${dataDir}`)

    expect(recover(dataDir, part)).toMatch(new RegExp(`^${part}: .*(lost|billed|flush|holds)`))
    const service = await started(dataDir)
    expect(await recorded(service, part)).not.toBe(NOT_FOUND)
    if (part === 'checkpoint') expect(await billOf(service)).toBe(billed.third)
    await service.stop()
    await service.start()
  })

  it('is recognised without folder.json as well, if a later part is there', async () => {
    const dataDir = mixed()
    rmSync(join(dataDir, 'folder.json'))
    truncateSync(join(dataDir, 'registry.db'), 0)
    expect(await refusal(dataDir)).toContain('registry.db is missing or empty')
  })
})

describe('a damaged file', () => {
  it('ends the start with its name and the remedy', async () => {
    for (const [file, part] of [
      ['registry.db', 'registry'],
      ['checkpoint.db', 'checkpoint'],
    ] as const) {
      const dataDir = mixed()
      writeFileSync(join(dataDir, file), Buffer.alloc(40_000, 'garbage'))
      const sentence = await refusal(dataDir)
      expect(sentence).toContain(`${join(dataDir, file)} is damaged`)
      expect(sentence).toContain(`recover --accept-loss ${part}`)
    }
  })

  it('does not stop the service if it is idempotency.db', async () => {
    const dataDir = mixed()
    writeFileSync(join(dataDir, 'idempotency.db'), Buffer.alloc(40_000, 'garbage'))
    const service = await started(dataDir)
    expect(service.errors()).toContain('idempotency.db is damaged and was moved aside')
    expect(await billOf(service)).toBe(billed.third)
  })
})

describe('a first start that is killed', () => {
  it.each([
    'master.key',
    'registry.db',
    'registry.mark',
    'idempotency.db',
    'clickhouse',
    'checkpoint.db',
    'spool',
    'folder.json',
  ])('leaves a folder that starts: at %s', async (file) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-first-'))
    await killedAt(dataDir, file)
    await started(dataDir)
  })
})

/** Starts the service on an empty folder and kills it when `file` appears. */
async function killedAt(dataDir: string, file: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const watcher = watch(dataDir, () => {
    if (existsSync(join(dataDir, file))) child.kill('SIGKILL')
  })
  const child = spawn(process.execPath, [join(SRC, 'main.ts'), '--empty'], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, GATEWAY_PORT: '0', PLATFORM_PORT: '0', LOG_LEVEL: 'silent' },
    stdio: 'ignore',
  })
  child.once('exit', () => resolve())
  await promise
  watcher.close()
  expect(child.signalCode).toBe('SIGKILL')
}
