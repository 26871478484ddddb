import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteIdempotencyStore } from '../../../src/storage/store/sqlite/idempotency-store.ts'
import { idempotencyContract } from './idempotency.contract.ts'

function start() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-idempotency-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'idempotency.db')
  let nowMs = 1_000
  return {
    open() {
      const store = openSqliteIdempotencyStore({ path, clock: { nowMs: () => nowMs } })
      onTestFinished(() => store.close())
      return store
    },
    forwardADay: () => void (nowMs += 86_400_000),
    count: () => new DatabaseSync(path, { readOnly: true }).prepare('SELECT key FROM kept').all().length,
  }
}

idempotencyContract('sqlite', start)

describe('idempotency keys in SQLite', () => {
  it('are marked as interrupted after a crash', async () => {
    const { open } = start()
    await open().claim('k', 'hash')
    expect(await open().claim('k', 'hash')).toMatchObject({ state: 'cut_off', answer: null })
  })
})
