/** Keys of providers that publish, rotate and fail, over real HTTP and a real registry. */

import { describe, expect, it } from 'vitest'
import { PROVIDER_KEYS_KIND } from '../../../../../src/control/identity/federation/provider-key-store.ts'
import {
  makeKey,
  openTestFederation,
  openTestProvider,
  openTestRegistry,
  record,
} from '../../../../fixtures/test-federation.ts'

const REFRESH_MS = 600_000

describe('an identity provider', () => {
  it('is published with its keys before its registration returns', async () => {
    const provider = await openTestProvider()
    const { changed, records, published } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()

    expect(published.at(-1)).toMatchObject([{ ...record(provider.issuer), keys: [{ kid: 'k1', kty: 'EC' }] }])
  })

  it('is unpublished before its removal returns, however slow other providers are', async () => {
    const provider = await openTestProvider()
    const { changed, records, kids, clock, registry } = openTestFederation()
    records.push(record(provider.issuer), record(provider.issuer, 'idp_2'))
    await changed()
    const gate = Promise.withResolvers<void>()
    provider.gate = gate.promise
    clock.advanceSync(REFRESH_MS * 2)
    records.pop()
    await changed()

    expect(kids()).toEqual([['k1']])
    expect(await registry.get(PROVIDER_KEYS_KIND, 'idp_2')).toBeNull()
    gate.resolve()
  })

  it('is fetched every ten minutes, and its current keys replace all earlier ones', async () => {
    const provider = await openTestProvider()
    const { changed, records, kids, clock, seen } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()
    provider.keys = [makeKey('k2')]
    clock.advanceSync(REFRESH_MS - 1)
    expect(provider.reads).toBe(1)
    clock.advanceSync(1)
    await seen('provider_keys_changed', 2)
    expect(kids()).toEqual([['k2']])
  })

  it('that is unreachable keeps its last keys, is retried with back-off, and counted', async () => {
    const provider = await openTestProvider()
    const { changed, records, kids, published, clock, seen } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()
    const before = published.length
    provider.status = 503
    clock.advanceSync(REFRESH_MS)
    await seen('provider_away', 1)
    for (const [times, pauseMs] of [5_000, 10_000, 20_000, 40_000].entries()) {
      await settle()
      const asked = provider.discoveries
      clock.advanceSync(pauseMs - 1)
      expect(provider.discoveries).toBe(asked)
      clock.advanceSync(1)
      await seen('provider_away', times + 2)
    }
    expect(kids()).toEqual([['k1']])
    expect(published).toHaveLength(before)

    provider.status = 200
    provider.keys = [makeKey('k3')]
    await settle()
    clock.advanceSync(80_000)
    await seen('provider_keys_changed', 2)
    expect(kids()).toEqual([['k3']])
  })

  it('that is unreachable at startup keeps its stored keys', async () => {
    const provider = await openTestProvider()
    const registry = openTestRegistry()
    const first = openTestFederation({ registry })
    first.records.push(record(provider.issuer))
    await first.changed()
    first.stop()

    provider.status = 500
    const second = openTestFederation({ registry })
    second.records.push(record(provider.issuer))
    await second.start()
    expect(second.kids()).toEqual([['k1']])
    await second.seen('provider_away')
    expect(second.kids()).toEqual([['k1']])
  })

  it('whose keys could not be stored has them stored by the next fetch, also if they are the same', async () => {
    const provider = await openTestProvider()
    const registry = openTestRegistry()
    let isFull = true
    const commit: typeof registry.commit = async (...args) => {
      if (isFull) throw new Error('the disk is full')
      return registry.commit(...args)
    }
    const { changed, records, counted, refetch } = openTestFederation({ registry: { ...registry, commit } })
    records.push(record(provider.issuer))
    await changed()
    expect(counted).toContain('provider_keys_not_kept')
    isFull = false
    expect(await refetch('idp_1')).toBe(false)
    expect(await registry.get(PROVIDER_KEYS_KIND, 'idp_1')).toMatchObject({ body: { keys: [{ kid: 'k1' }] } })
  })

  it('does not inherit the keys of another issuer', async () => {
    const [one, other] = [await openTestProvider(), await openTestProvider()]
    const registry = openTestRegistry()
    const first = openTestFederation({ registry })
    first.records.push(record(one.issuer))
    await first.changed()
    other.status = 500
    const second = openTestFederation({ registry })
    second.records.push(record(other.issuer))
    await second.start()
    expect(second.kids()).toEqual([[]])
  })

  it('that no longer publishes a key has none', async () => {
    const provider = await openTestProvider()
    const { changed, records, kids, refetch } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()
    provider.keys = []
    expect(await refetch('idp_1')).toBe(true)
    expect(kids()).toEqual([[]])
  })
})

describe('an unknown key of a provider', () => {
  it('causes one shared fetch, published before it returns', async () => {
    const provider = await openTestProvider()
    const { changed, records, refetch, kids } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()
    provider.keys = [makeKey('k1'), makeKey('k2')]
    const answers = await Promise.all(Array.from({ length: 100 }, () => refetch('idp_1')))

    expect(new Set(answers)).toEqual(new Set([true]))
    expect(provider.reads).toBe(2)
    expect(kids()?.[0]?.toSorted()).toEqual(['k1', 'k2'])
  })

  it('causes no further fetch during the pause', async () => {
    const provider = await openTestProvider()
    const { changed, records, refetch, clock, counted } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()
    for (let index = 0; index < 50; index++) expect(await refetch('idp_1')).toBe(false)
    expect(provider.reads).toBe(2)
    expect(counted.filter((reason) => reason === 'provider_refetch_rests')).toHaveLength(49)
    clock.advanceSync(30_000)
    await refetch('idp_1')
    expect(provider.reads).toBe(3)
  })

  it('causes a fetch after the clock was set back', async () => {
    const provider = await openTestProvider()
    const { changed, records, refetch, clock } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()
    await refetch('idp_1')
    clock.setBack(3_600_000)
    await refetch('idp_1')
    expect(provider.reads).toBe(3)
  })

  it('causes a pause also after a failed fetch, per provider', async () => {
    const [one, other] = [await openTestProvider(), await openTestProvider()]
    const { changed, records, refetch } = openTestFederation()
    records.push(record(one.issuer), record(other.issuer, 'idp_2'))
    await changed()
    one.status = 500
    for (let index = 0; index < 5; index++) expect(await refetch('idp_1')).toBe(false)
    expect(one.reads).toBe(2)
    other.keys = [makeKey('k2')]
    expect(await refetch('idp_2')).toBe(true)
  })

  it('is fetched again at once after a fetch with new keys, because keys can change twice', async () => {
    const provider = await openTestProvider()
    const { changed, records, refetch } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()
    for (const kid of ['k2', 'k3']) {
      provider.keys = [makeKey(kid)]
      expect(await refetch('idp_1')).toBe(true)
    }
    expect([await refetch('idp_1'), await refetch('idp_1')]).toEqual([false, false])
    expect(provider.reads).toBe(4)
  })

  it('causes no fetch if the provider is not registered', async () => {
    expect(await openTestFederation().refetch('idp_9')).toBe(false)
  })
})

/** Waits until all promises that can settle have settled. */
function settle(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(resolve)
  return promise
}

describe('an identity provider of several nodes', () => {
  it('has its keys stored once, without a conflict, when all nodes fetch them', async () => {
    const provider = await openTestProvider()
    const registry = openTestRegistry()
    const nodes = [1, 2, 3].map(() => openTestFederation({ registry }))
    for (const { records } of nodes) records.push(record(provider.issuer))
    await Promise.all(nodes.map((node) => node.changed()))
    for (const { kids, counted } of nodes) {
      expect(kids()).toEqual([['k1']])
      expect(counted).not.toContain('provider_keys_not_kept')
    }
    expect((await registry.get(PROVIDER_KEYS_KIND, 'idp_1'))?.revision).toBe(1)
    for (const { records } of nodes) records.pop()
    await Promise.all(nodes.map((node) => node.changed()))
    for (const { counted } of nodes) expect(counted).not.toContain('provider_keys_not_kept')
    expect(await registry.get(PROVIDER_KEYS_KIND, 'idp_1')).toBeNull()
  })

  it('has its keys when its registration returns, also if the feed has brought it before', async () => {
    const provider = await openTestProvider()
    const { follow, changed, records, kids } = openTestFederation()
    const gate = Promise.withResolvers<void>()
    provider.gate = gate.promise
    records.push(record(provider.issuer))
    await follow()
    expect(kids()).toEqual([[]])
    const done = changed('idp_1')
    gate.resolve()
    await done
    expect(kids()).toEqual([['k1']])
  })

  it('is removed by the feed while another one is new and slow', async () => {
    const provider = await openTestProvider()
    const { follow, records, published } = openTestFederation()
    records.push(record(provider.issuer))
    provider.gate = new Promise(() => {})
    await follow()
    records.pop()
    await follow()
    expect(published.at(-1)).toEqual([])
  })
})
