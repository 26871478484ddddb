/**
 * Copies of one data folder at three moments, and folders with parts of several of them.
 *
 * Starts the service on such a folder, or expects that the start is refused.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import { CLI } from '../fixtures/entry-points.ts'
import { ledgerDocument, startLedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'
import { tryStart } from './refused-starts.ts'

export const SRC = join(import.meta.dirname, '../../src')
const CALLS = 5

export type Moment = 'first' | 'second' | 'third'

/** The calls that each copy has to bill. */
export const BILLED: Readonly<Record<Moment, number>> = { first: CALLS, second: 3 * CALLS, third: 5 * CALLS }

export interface FolderCopies {
  copyOf(moment: Moment): string
  /** Returns a copy of the third moment, with some parts replaced by those of another moment. */
  mixed(parts?: readonly string[], from?: Moment): string
  close(): Promise<void>
}

/** Copies a folder in the order of time: after a stop, then of a paused process, then after a kill. */
export async function createFolderCopies(): Promise<FolderCopies> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-agreement-'))
  const backend = await startLedgerBackend()
  let number = 0

  function copy(from: string, to: string): string {
    cpSync(join(folder, from), join(folder, to), { recursive: true, verbatimSymlinks: true })
    return join(folder, to)
  }

  const service = await createService({ args: ['--empty'], dataDir: join(folder, 'data') })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  const callers = [await enrol(service, 'ledger-v1', { name: 'Ada' })]
  await call(service, callers, 1)
  await service.stop()
  copy('data', 'first')

  await service.start()
  callers.push(await enrol(service, 'ledger-v1', { name: 'Bob' }))
  // The bill shows a flush before the store notes it. The second flush of a segment continues from the first one, so a copy
  // that lacks its note needs no records of earlier segments.
  await call(service, callers, 2)
  await call(service, callers, 3)
  // A stopped process writes nothing during the copy, and continues afterwards.
  process.kill(service.pid(), 'SIGSTOP')
  copy('data', 'second')
  process.kill(service.pid(), 'SIGCONT')
  callers.push(await enrol(service, 'ledger-v1', { name: 'Cyd' }))
  // The bill shows a flush before the checkpoint moves: after the second flush the first one is committed.
  await call(service, callers, 4)
  await call(service, callers, 5)
  await service.kill()
  copy('data', 'third')

  return {
    copyOf: (moment) => copy(moment, `copy-${++number}`),
    mixed(parts = [], from = 'first') {
      const dataDir = copy('third', `mixed-${++number}`)
      for (const part of parts) {
        rmSync(join(dataDir, part), { recursive: true, force: true })
        const source = join(folder, from, part)
        if (existsSync(source)) cpSync(source, join(dataDir, part), { recursive: true, verbatimSymlinks: true })
      }
      return dataDir
    },
    async close() {
      await backend.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Calls with the latest credential until the bill is `CALLS` per round. */
async function call(service: Service, callers: readonly Enrolled[], rounds: number): Promise<void> {
  const { apiKey } = callers.at(-1)!
  for (let number = 0; number < CALLS; number++) {
    const response = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers: { 'x-api-key': apiKey } })
    expect(response.status).toBe(200)
  }
  const isBilled = async () => (await billOf(service)) >= rounds * CALLS
  await vi.waitUntil(isBilled, { timeout: 60_000, interval: 50 })
}

export async function billOf(service: Service): Promise<number> {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

/** Returns the names of the files of a database. */
export const database = (name: string): string[] => [`${name}.db`, `${name}.db-wal`, `${name}.db-shm`]

/** Starts the service on a folder until the end of the test. */
export async function startOn(dataDir: string, env: Record<string, string> = {}): Promise<Service> {
  const service = await createService({ args: ['--empty'], dataDir, env })
  onTestFinished(() => service.remove())
  await service.start()
  return service
}

/** Returns the line with which the start is refused, after checking the exit code 2. */
export async function refusal(dataDir: string, env: Record<string, string> = {}): Promise<string> {
  const failure = await startOn(dataDir, env).then(
    () => new Error('it started'),
    (cause: Error) => cause,
  )
  const [first, ...lines] = failure.message.trim().split('\n')
  expect(first).toBe('the service ended with 2')
  expect(lines.filter((line) => line.startsWith('tollgate: '))).toHaveLength(1)
  return lines.find((line) => line.startsWith('tollgate: ')) ?? ''
}

/** Returns the line with which a start is refused before it opens the store. */
export async function earlyRefusal(dataDir: string, env: Record<string, string> = {}): Promise<string> {
  const { code, lines } = await tryStart(dataDir, env)
  expect([code, lines.length]).toEqual([2, 1])
  return lines[0]!
}

/** Runs `tollgate recover` and returns its output. */
export function recover(dataDir: string, ...parts: readonly string[]): string {
  const args = ['recover', ...parts.flatMap((part) => ['--accept-loss', part]), '--data-dir', dataDir]
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    encoding: 'utf8',
    env: PLAIN_ENVIRONMENT,
  })
  // The embedded engine writes its own errors to stderr, too.
  expect([status, stderr.match(/^tollgate: .*/m)]).toEqual([0, null])
  return stdout
}

export const NOT_FOUND = 'nothing in the audit log'

/** Returns the loss of a part as the audit log records it. */
export async function recordedLoss(service: Service, part: string): Promise<string> {
  const { items } = await service.platform.get<{ items: readonly { after: { part: string; loss: string } }[] }>(
    '/v1/audit?kind=recovery',
  )
  return items.find(({ after }) => after.part === part)?.after.loss ?? NOT_FOUND
}
