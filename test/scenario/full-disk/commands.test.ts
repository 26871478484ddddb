// @module-tag prlimit

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CONSUMER_KIND } from '../../../src/control/access/consumer-document.ts'
import { createConsumers } from '../../../src/control/access/consumers.ts'
import { createKeyedMutex } from '../../../src/control/command/keyed-mutex.ts'
import { createIdFactory } from '../../../src/foundation/runtime/ids.ts'
import { openSqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { withFilesLimited } from '../../file-size-limit.ts'
import {
  ACME,
  base64,
  publishApi,
  NOW_MS,
  OFFERED,
  openTestCatalogue,
  orders,
  type TestCatalogue,
} from '../../fixtures/test-catalogue.ts'
import type { DocumentKind } from '../../../src/storage/store/registry.ts'

it('a full disk is answered 503, and the registry stays consistent and works again when space is free', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-full-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'registry.db')
  const clock = { nowMs: () => NOW_MS, after: () => () => {}, every: () => () => {} }
  const full = openSqliteRegistry({ path, clock, bytesMax: 400 * 1024 })
  const gateway = { applyGrants: async () => {} }
  const rest = { createId: createIdFactory(clock.nowMs), gateway, mutex: createKeyedMutex(), clock }
  const consumers = createConsumers({ ...rest, registry: full })
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
  expect(await roomy.list(CONSUMER_KIND, { limit: 10_000 })).toHaveLength(made.length)
  const after = createConsumers({ ...rest, registry: roomy })
  expect(await after.create(ACME, { name: 'Ada', kind: 'agent' })).toMatchObject({ name: 'Ada' })
})

const REFUSED = { status: 503, code: 'unavailable' }

/** Returns all documents of the registry that these commands write. */
async function dump(catalogue: TestCatalogue): Promise<string> {
  const kinds = ['api', 'proxy', 'subscription', 'credential', 'due', 'event']
  return JSON.stringify(
    await Promise.all(kinds.map((kind) => catalogue.registry.list(kind as DocumentKind<unknown>, { limit: 500 }))),
  )
}

async function subscribe(
  catalogue: TestCatalogue,
): Promise<{ proxy: string; subscription: string; credential: string }> {
  const { proxy, consumer } = await publishApi(catalogue)
  const { id: subscription } = await catalogue.subscriptions.create(ACME, { consumer, api: 'orders-v1' })
  const { items } = await catalogue.credentials.read(ACME, subscription)
  catalogue.gateway.calls.length = 0
  return { proxy, subscription, credential: items[0]?.id ?? '' }
}

describe('a command on a disk that refuses', () => {
  it('activates nothing, keeps serving the previous revision, and activates when space is free', async () => {
    const catalogue = openTestCatalogue()
    const { proxy } = await subscribe(catalogue)
    const wider = base64(orders({ operations: { ...OFFERED, another: [] } }))
    await catalogue.proxies.stage(ACME, { api: 'orders-v1', specification: wider })
    const before = await dump(catalogue)
    await withFilesLimited(0, () => expect(catalogue.proxies.activate(ACME, proxy)).rejects.toMatchObject(REFUSED))
    expect(catalogue.gateway.calls).toEqual(['prepare orders-v1 2', 'abort orders-v1 2'])
    expect(await dump(catalogue)).toBe(before)
    expect(await catalogue.proxies.activate(ACME, proxy)).toMatchObject({ activeRevision: 2 })
    expect(catalogue.gateway.calls.slice(2)).toEqual(['prepare orders-v1 2', 'swap orders-v1 2'])
  })

  it('rotates no credential, and rotates each once when space is free', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await subscribe(catalogue)
    const before = await dump(catalogue)
    await withFilesLimited(0, () =>
      expect(catalogue.credentials.rotate(ACME, subscription)).rejects.toMatchObject(REFUSED),
    )
    expect([catalogue.gateway.calls, await dump(catalogue)]).toEqual([[], before])
    const old = (await catalogue.credentials.of('acme', subscription)).length
    expect((await catalogue.credentials.rotate(ACME, subscription)).items).toHaveLength(old)
    expect(await catalogue.credentials.of('acme', subscription)).toHaveLength(2 * old)
  })

  it('revokes no credential, and revokes it when space is free', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credential } = await subscribe(catalogue)
    const before = await dump(catalogue)
    await withFilesLimited(0, () =>
      expect(catalogue.credentials.revoke(ACME, subscription, credential)).rejects.toMatchObject(REFUSED),
    )
    expect([catalogue.gateway.calls, await dump(catalogue)]).toEqual([[], before])
    await catalogue.credentials.revoke(ACME, subscription, credential)
    expect(catalogue.gateway.grants.find((grant) => grant.credential === credential)).toMatchObject({ valid: false })
  })

  it('shows no secret if the read cannot be audited', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await subscribe(catalogue)
    await withFilesLimited(0, () =>
      expect(catalogue.credentials.read(ACME, subscription)).rejects.toBeInstanceOf(StoreUnwritable),
    )
    expect((await catalogue.credentials.read(ACME, subscription)).items.length).toBeGreaterThan(0)
  })
})
