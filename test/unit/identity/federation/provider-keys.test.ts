/** Keys of providers that publish, rotate, fail and send invalid documents, over real HTTP and a real registry. */

import { generateKeyPairSync } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ProviderPlan } from '../../../../src/plan/provider-plan.ts'
import { createFederation, type ProviderRecord } from '../../../../src/identity/federation/provider-keys.ts'
import { createGuardedFetch } from '../../../../src/outbound/guarded-fetch.ts'
import { openSqliteRegistry } from '../../../../src/store/sqlite/registry.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { PROVIDER_KEYS_KIND } from '../../../../src/identity/federation/provider-key-store.ts'

const START_MS = 1_800_000_000_000
const REFRESH_MS = 600_000

function makeKey(kid: string): Record<string, unknown> {
  return { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid, use: 'sig' }
}

/** The responses of a provider by path; `reads` counts requests for its keys. */
async function openProvider() {
  const state = {
    issuer: '',
    keys: [makeKey('k1')] as unknown,
    discovery: {} as Record<string, unknown>,
    status: 200,
    reads: 0,
    discoveries: 0,
    /** Delays the responses until it resolves. */
    gate: Promise.resolve(),
  }
  const server: Server = createServer((request, response) => void answer(request.url ?? '', response))
  async function answer(url: string, response: ServerResponse): Promise<void> {
    if (url === '/jwks') state.reads++
    else state.discoveries++
    await state.gate
    const document = { issuer: state.issuer, jwks_uri: `${state.issuer}/jwks`, ...state.discovery }
    response.writeHead(state.status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(url === '/jwks' ? { keys: state.keys } : document))
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  state.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return state
}

function openRegistry() {
  const registry = openSqliteRegistry({ path: ':memory:', clock: createFakeClock(START_MS) })
  onTestFinished(() => registry.close())
  return registry
}

function open({ registry = openRegistry(), allowPrivate = true } = {}) {
  const clock = createFakeClock(START_MS)
  const guarded = createGuardedFetch({ clock, allowPrivate })
  const records: ProviderRecord[] = []
  const published: (readonly ProviderPlan[])[] = []
  const counted: string[] = []
  const heard = { next: Promise.withResolvers<void>() }
  const tell = (): void => {
    heard.next.resolve()
    heard.next = Promise.withResolvers<void>()
  }
  const federation = createFederation({
    providers: async () => [...records],
    registry,
    fetch: guarded.fetch,
    clock,
    log: { warn: () => {}, info: () => {} },
    count(reason) {
      counted.push(reason)
      tell()
    },
    random: () => 0.5,
    publish: async (plans) => void published.push(plans),
  })
  onTestFinished(async () => {
    federation.stop()
    await guarded.close()
  })
  /** Resolves when a reason was counted `times` times. */
  async function seen(reason: string, times = 1): Promise<void> {
    while (counted.filter((each) => each === reason).length < times) await heard.next.promise
  }
  const kids = () => published.at(-1)?.map(({ keys }) => keys.map(({ kid }) => kid))
  return { ...federation, records, published, counted, clock, registry, kids, seen }
}

function record(issuer: string, id = 'idp_1'): ProviderRecord {
  return { id, tenant: 'acme', issuer, audience: '', claims: { clientId: '', scope: '', person: '' }, apis: [] }
}

describe('an identity provider', () => {
  it('is published with its keys before its registration returns', async () => {
    const provider = await openProvider()
    const { changed, records, published } = open()
    records.push(record(provider.issuer))
    await changed()

    expect(published.at(-1)).toMatchObject([{ ...record(provider.issuer), keys: [{ kid: 'k1', kty: 'EC' }] }])
  })

  it('is unpublished before its removal returns, however slow other providers are', async () => {
    const provider = await openProvider()
    const { changed, records, kids, clock, registry } = open()
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
    const provider = await openProvider()
    const { changed, records, kids, clock, seen } = open()
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
    const provider = await openProvider()
    const { changed, records, kids, published, clock, seen } = open()
    records.push(record(provider.issuer))
    await changed()
    const before = published.length
    provider.status = 503
    clock.advanceSync(REFRESH_MS)
    await seen('provider_away', 1)
    for (const [times, pauseMs] of [5_000, 10_000, 20_000, 40_000].entries()) {
      await turns()
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
    await turns()
    clock.advanceSync(80_000)
    await seen('provider_keys_changed', 2)
    expect(kids()).toEqual([['k3']])
  })

  it('that is unreachable at startup keeps its stored keys', async () => {
    const provider = await openProvider()
    const registry = openRegistry()
    const first = open({ registry })
    first.records.push(record(provider.issuer))
    await first.changed()
    first.stop()

    provider.status = 500
    const second = open({ registry })
    second.records.push(record(provider.issuer))
    await second.start()
    expect(second.kids()).toEqual([['k1']])
    await second.seen('provider_away')
    expect(second.kids()).toEqual([['k1']])
  })

  it('does not inherit the keys of another issuer', async () => {
    const [one, other] = [await openProvider(), await openProvider()]
    const registry = openRegistry()
    const first = open({ registry })
    first.records.push(record(one.issuer))
    await first.changed()
    other.status = 500
    const second = open({ registry })
    second.records.push(record(other.issuer))
    await second.start()
    expect(second.kids()).toEqual([[]])
  })

  it('that no longer publishes a key has none', async () => {
    const provider = await openProvider()
    const { changed, records, kids, refetch } = open()
    records.push(record(provider.issuer))
    await changed()
    provider.keys = []
    expect(await refetch('idp_1')).toBe(true)
    expect(kids()).toEqual([[]])
  })
})

describe('an unknown key of a provider', () => {
  it('causes one shared fetch, published before it returns', async () => {
    const provider = await openProvider()
    const { changed, records, refetch, kids } = open()
    records.push(record(provider.issuer))
    await changed()
    provider.keys = [makeKey('k1'), makeKey('k2')]
    const answers = await Promise.all(Array.from({ length: 100 }, () => refetch('idp_1')))

    expect(new Set(answers)).toEqual(new Set([true]))
    expect(provider.reads).toBe(2)
    expect(kids()?.[0]?.toSorted()).toEqual(['k1', 'k2'])
  })

  it('causes no further fetch during the pause', async () => {
    const provider = await openProvider()
    const { changed, records, refetch, clock, counted } = open()
    records.push(record(provider.issuer))
    await changed()
    for (let index = 0; index < 50; index++) expect(await refetch('idp_1')).toBe(false)
    expect(provider.reads).toBe(2)
    expect(counted.filter((reason) => reason === 'provider_refetch_rests')).toHaveLength(49)
    clock.advanceSync(30_000)
    await refetch('idp_1')
    expect(provider.reads).toBe(3)
  })

  it('causes a pause also after a failed fetch, per provider', async () => {
    const [one, other] = [await openProvider(), await openProvider()]
    const { changed, records, refetch } = open()
    records.push(record(one.issuer), record(other.issuer, 'idp_2'))
    await changed()
    one.status = 500
    for (let index = 0; index < 5; index++) expect(await refetch('idp_1')).toBe(false)
    expect(one.reads).toBe(2)
    other.keys = [makeKey('k2')]
    expect(await refetch('idp_2')).toBe(true)
  })

  it('is fetched again at once after a fetch with new keys, because keys can change twice', async () => {
    const provider = await openProvider()
    const { changed, records, refetch } = open()
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
    expect(await open().refetch('idp_9')).toBe(false)
  })
})

describe('the document of a provider', () => {
  const faults = async (change: (provider: Awaited<ReturnType<typeof openProvider>>) => void, allowPrivate = true) => {
    const provider = await openProvider()
    change(provider)
    return open({ allowPrivate }).probe(provider.issuer)
  }
  const aFault = expect.any(String)

  it('is checked before the registration', async () => {
    expect(await faults(() => {})).toBeNull()
  })

  it('must name the issuer exactly', async () => {
    for (const more of ['/', '/other', 'x'])
      expect(await faults((one) => (one.discovery = { issuer: `${one.issuer}${more}` })), more).toEqual(aFault)
    for (const issuer of [undefined, null, 1, ['a']])
      expect(await faults((one) => (one.discovery = { issuer }))).toEqual(aFault)
  })

  it('must name an allowed address for its keys', async () => {
    for (const uri of [undefined, 1, '', 'file:///etc/passwd', 'ftp://a.example/', 'x'.repeat(9_999)])
      expect(await faults((one) => (one.discovery = { jwks_uri: uri })), String(uri)).toEqual(aFault)
  })

  it('is not fetched from a private address unless the deployment allows it', async () => {
    expect(await faults(() => {}, false)).toEqual(aFault)
  })

  it('is limited in bytes and in keys', async () => {
    expect(await faults((one) => (one.keys = [{ filler: 'x'.repeat(70_000) }]))).toEqual(aFault)
    expect(await faults((one) => (one.keys = Array.from({ length: 101 }, () => ({}))))).toEqual(aFault)
  })

  it('must refer to a key set', async () => {
    for (const keys of ['none', null, { a: 1 }, 7]) expect(await faults((one) => (one.keys = keys))).toEqual(aFault)
    expect(await faults((one) => (one.status = 301))).toEqual(aFault)
  })

  it('contributes only keys that verify signatures, without private parts', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const leaked = { ...privateKey.export({ format: 'jwk' }), kid: 'k9', extra: 'x' }
    const provider = await openProvider()
    provider.keys = [leaked, { kty: 'oct', k: 'AA' }, { ...makeKey('e'), use: 'enc' }, null, 'key', 7]
    const { changed, records, published } = open()
    records.push(record(provider.issuer))
    await changed()

    expect(published.at(-1)?.[0]?.keys.map((key) => Object.keys(key).sort())).toEqual([['crv', 'kid', 'kty', 'x', 'y']])
    expect(await faults((one) => (one.keys = [{ kty: 'oct', k: 'AA' }]))).toEqual(aFault)
  })
})

/** Waits until all promises that can settle have settled. */
function turns(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(resolve)
  return promise
}
