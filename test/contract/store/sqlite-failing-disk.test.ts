/** Errors and state of the SQLite adapters if the disk refuses a write. */

// @module-tag prlimit

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'
import { openSqliteIdempotencyStore } from '../../../src/storage/store/sqlite/idempotency-store.ts'
import { openSqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'
import { transact } from '../../../src/storage/store/sqlite/transaction.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { withFilesLimited } from '../../file-size-limit.ts'
import { documentKind } from '../../../src/storage/store/registry.ts'

const THING = documentKind<unknown>('thing', 'hidden')

const author = { tenant: 'acme', consumer: 'system' }
const clock = { nowMs: () => 1_800_000_000_000, after: () => () => {}, every: () => () => {} }

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-failing-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

const write = (id: string) => ({ kind: 'thing', id, tenant: 'acme', expected: 0, body: { text: 'x'.repeat(10_000) } })

describe('a transaction', () => {
  it('throws the first error, not that of a rollback that fails after it', () => {
    const database = new DatabaseSync(':memory:')
    onTestFinished(() => database.close())
    database.exec('CREATE TABLE t (a)')
    const work = (): void => {
      database.exec('INSERT INTO t VALUES (1)')
      // Ends the transaction, so that the rollback of `transact` fails.
      database.exec('ROLLBACK')
      throw new Error('the first')
    }
    expect(() => transact(database, work)).toThrow('the first')
    transact(database, () => database.exec('INSERT INTO t VALUES (2)'))
    expect(database.prepare('SELECT a FROM t').all()).toEqual([{ a: 2 }])
  })

  it('begins even if an earlier one was left open', () => {
    const database = new DatabaseSync(':memory:')
    onTestFinished(() => database.close())
    database.exec('CREATE TABLE t (a); BEGIN; INSERT INTO t VALUES (1)')
    transact(database, () => database.exec('INSERT INTO t VALUES (2)'))
    expect(database.prepare('SELECT a FROM t').all()).toEqual([{ a: 2 }])
  })
})

it('the registry throws StoreUnwritable while the disk refuses, keeps its documents, and works again afterwards', async () => {
  const registry = openSqliteRegistry({ path: join(folder(), 'registry.db'), clock })
  onTestFinished(() => registry.close())
  await registry.commit(author, 'make', [write('a')])
  await withFilesLimited(0, async () => {
    await expect(registry.commit(author, 'make', [write('b')])).rejects.toThrow(StoreUnwritable)
    await expect(registry.commit(author, 'make', [write('b')])).rejects.toMatchObject({
      cause: { message: expect.stringContaining('disk I/O error') },
    })
    await expect(registry.audit(author, 'read', write('a'))).rejects.toThrow(StoreUnwritable)
    const commits = ['b', 'c'].map((id) => ({ author, action: 'make', writes: [write(id)] }))
    await expect(registry.commitEach(commits)).rejects.toThrow(StoreUnwritable)
    expect(await registry.get(THING, 'a')).not.toBeNull()
  })
  expect(await registry.list(THING, { limit: 9 })).toHaveLength(1)
  await registry.commit(author, 'make', [write('b')])
  expect(await registry.list(THING, { limit: 9 })).toHaveLength(2)
})

it('the checkpoint throws the error of the disk, keeps its position, and works again afterwards', async () => {
  const checkpoint = openSqliteCheckpoint({ path: join(folder(), 'checkpoint.db'), newInstance: () => 'here' })
  onTestFinished(() => checkpoint.close())
  const [first, second] = [100, 200].map((offset) => ({ 'gateway-0': { segment: 1, offset } }))
  const flush = checkpoint.begin(first!)
  await withFilesLimited(0, async () => {
    expect(() => checkpoint.commit(flush)).toThrow('disk I/O error')
    expect(() => checkpoint.commitRisk(second!, [], [], 0)).toThrow('disk I/O error')
    expect(() => checkpoint.begin(second!)).toThrow('disk I/O error')
  })
  expect([checkpoint.position(), checkpoint.pending(), checkpoint.riskPosition()]).toEqual([{}, flush, {}])
  checkpoint.commit(flush)
  checkpoint.commitRisk(second!, [], [], 0)
  expect([checkpoint.position(), checkpoint.pending(), checkpoint.riskPosition()]).toEqual([first, null, second])
})

describe('idempotency keys', () => {
  it('are refused if the claim cannot be written, and free afterwards', async () => {
    const store = openSqliteIdempotencyStore({ path: join(folder(), 'idempotency.db'), clock })
    onTestFinished(() => store.close())
    await withFilesLimited(0, () => expect(store.claim('k', 'hash')).rejects.toThrow(StoreUnwritable))
    expect(await store.claim('k', 'hash')).toBeNull()
  })

  it('keep the result of a claim in memory if it cannot be written', async () => {
    const store = openSqliteIdempotencyStore({ path: join(folder(), 'idempotency.db'), clock })
    onTestFinished(() => store.close())
    await store.claim('done', 'hash')
    await store.claim('failed', 'hash')
    await withFilesLimited(0, async () => {
      await store.finish('done', 'answer')
      await store.release('failed')
    })
    expect(await store.claim('done', 'hash')).toEqual({ requestHash: 'hash', state: 'done', answer: 'answer' })
    expect(await store.claim('failed', 'hash')).toBeNull()
  })
})
