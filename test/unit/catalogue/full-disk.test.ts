import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createConsumers } from '../../../src/catalogue/consumers.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import { openSqliteRegistry } from '../../../src/store/sqlite/registry.ts'
import { ACME, NOW_MS } from './house.ts'

it('a full disk is answered 503, and the registry is whole and goes on when there is room', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-full-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'registry.db')
  const clock = { nowMs: () => NOW_MS, after: () => () => {}, every: () => () => {} }
  const full = openSqliteRegistry({ path, clock, bytesMax: 400 * 1024 })
  const createId = createIdFactory(clock.nowMs)
  const consumers = createConsumers({ registry: full, createId })
  const made: string[] = []
  const fill = async (): Promise<never> => {
    for (;;) made.push((await consumers.create(ACME, { name: 'x'.repeat(128), kind: 'agent' })).id)
  }

  await expect(fill()).rejects.toMatchObject({ status: 503, code: 'unavailable' })
  expect(made.length).toBeGreaterThan(100)
  await expect(consumers.create(ACME, { name: 'y'.repeat(128), kind: 'agent' })).rejects.toMatchObject({ status: 503 })
  expect((await consumers.get('acme', made[0] ?? '')).name).toHaveLength(128)
  full.close()

  const check = new DatabaseSync(path)
  expect(check.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  check.close()
  const roomy = openSqliteRegistry({ path, clock })
  onTestFinished(() => roomy.close())
  expect(await roomy.list('consumer', { limit: 10_000 })).toHaveLength(made.length)
  const after = createConsumers({ registry: roomy, createId })
  expect(await after.create(ACME, { name: 'Ada', kind: 'agent' })).toMatchObject({ name: 'Ada' })
})
