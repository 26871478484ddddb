import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteIdempotencyStore } from '../../../src/store/sqlite/idempotency-store.ts'

function start() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-idempotency-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'idempotency.db')
  let nowMs = 1_000
  const open = () => {
    const store = openSqliteIdempotencyStore({ path, clock: { nowMs: () => nowMs } })
    onTestFinished(() => store.close())
    return store
  }
  return { open, path, forward: (ms: number) => void (nowMs += ms) }
}

describe('idempotency keys in SQLite', () => {
  it('are claimed once, and keep their answer over a restart', async () => {
    const { open } = start()
    const store = open()
    expect(await store.claim('k', 'hash')).toBeNull()
    expect(await store.claim('k', 'other')).toEqual({ requestHash: 'hash', state: 'running', answer: null })
    await store.finish('k', 'answer')
    const done = { requestHash: 'hash', state: 'done', answer: 'answer' }
    expect(await store.claim('k', 'hash')).toEqual(done)
    expect(await open().claim('k', 'hash')).toEqual(done)
  })

  it('are marked as interrupted after a crash', async () => {
    const { open } = start()
    await open().claim('k', 'hash')
    expect(await open().claim('k', 'hash')).toMatchObject({ state: 'cut_off', answer: null })
  })

  it('are free after a release, but not after they are finished', async () => {
    const { open } = start()
    const store = open()
    await store.claim('k', 'hash')
    await store.release('k')
    expect(await store.claim('k', 'hash')).toBeNull()
    await store.finish('k', 'answer')
    await store.release('k')
    expect(await store.claim('k', 'hash')).toMatchObject({ state: 'done' })
  })

  it('expire after a day and release their space', async () => {
    const { open, forward, path } = start()
    const store = open()
    for (let number = 0; number < 50; number++) {
      await store.claim(`old-${number}`, 'hash')
      await store.finish(`old-${number}`, `answer ${number}`)
    }
    forward(86_400_000)
    expect(await store.claim('old-49', 'hash')).toBeNull()
    for (let number = 0; number < 20; number++) await store.claim(`new-${number}`, 'hash')
    const rows = new DatabaseSync(path, { readOnly: true }).prepare('SELECT key FROM kept').all()
    expect(rows.filter(({ key }) => String(key).startsWith('new-'))).toHaveLength(20)
    expect(rows).toHaveLength(21)
  })
})
