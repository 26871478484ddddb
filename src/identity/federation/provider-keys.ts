/**
 * Fetches the keys of all registered identity providers, keeps them current, and publishes them to the gateway threads.
 *
 * Keys are fetched every ten minutes, and at once when a token names an unknown key. Calls share such a fetch, and after
 * one without new keys the next is refused for 30 seconds, so that forged key names cause no load on the provider. While
 * a provider is unreachable its last keys stay in use, also after a restart, and fetches back off. A successful fetch
 * replaces all keys, so a key that the provider has removed is removed here too.
 *
 * Every publication contains the current keys of all providers, so an older state never overwrites a newer one.
 */

import type { CountEvent, EventReason } from '../../runtime/event-reasons.ts'
import type { ProviderPlan } from '../../plan/provider-plan.ts'
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts'
import { exponentialDelayMs, withJitter } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { Registry } from '../../store/registry.ts'
import { discover, fetchKeys, type DiscoveryFault, type Published } from './discover.ts'
import { createProviderKeyStore, type ProviderKeyStore } from './provider-key-store.ts'

/** A provider as it is registered. */
export type ProviderRecord = Omit<ProviderPlan, 'keys'>

export interface Federation {
  /** Loads the registered providers, publishes their stored keys, and starts to fetch. */
  start(): Promise<void>
  /** Applies a change of the registered providers. Resolves when every gateway thread has it, with the keys of new providers that respond. */
  changed(): Promise<void>
  /** Returns why a provider cannot be used now, or null. */
  probe(issuer: string): Promise<string | null>
  /** Fetches the keys of a provider at once. Returns whether they have changed; new keys are published by then. */
  refetch(provider: string): Promise<boolean>
  stop(): void
}

export interface FederationOptions {
  readonly providers: () => Promise<readonly ProviderRecord[]>
  readonly registry: Registry
  readonly fetch: GuardedFetch['fetch']
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'info'>
  readonly count: CountEvent
  /** From 0 up to 1; spreads the fetches. */
  readonly random: () => number
  readonly publish: (plans: readonly ProviderPlan[]) => Promise<void>
}

interface Provider {
  record: ProviderRecord
  published: Published | null
  failures: number
  /** No refetch before this time. */
  refetchAfterMs: number
  fetching: Promise<boolean> | null
  cancel: () => void
}

interface State extends Omit<FederationOptions, 'providers' | 'registry'> {
  readonly registered: FederationOptions['providers']
  readonly store: ProviderKeyStore
  readonly providers: Map<string, Provider>
  isStopped: boolean
}

type FetchPublished = (state: State, provider: Provider) => Promise<Published | DiscoveryFault>

const REFRESH_MS = 600_000
const REFETCH_PAUSE_MS = 30_000
const RETRY = { firstMs: 5_000, maxMs: REFRESH_MS }
const JITTER = 0.1
/** Concurrent fetches at startup. */
const FETCHES_MAX = 16

export function createFederation({ providers, registry, ...options }: FederationOptions): Federation {
  const store = createProviderKeyStore(registry)
  const state: State = { ...options, registered: providers, store, providers: new Map(), isStopped: false }
  let queue: Promise<unknown> = Promise.resolve()

  /** Reloads after all earlier reloads, and publishes. Returns the new providers. */
  function reloadInOrder(): Promise<readonly Provider[]> {
    const done = queue.then(async () => {
      const added = await reload(state)
      await publishAll(state)
      return added
    })
    queue = done.catch(() => {})
    return done
  }

  return {
    async start() {
      const added = await reloadInOrder()
      void renewAll(state, added)
    },
    async changed() {
      const added = await reloadInOrder()
      await Promise.all(added.map((provider) => renew(state, provider)))
    },
    async probe(issuer) {
      const found = await discover(issuer, state.fetch)
      if ('fault' in found) return found.fault
      return found.keys.length === 0 ? `${found.jwksUri} has no key that can verify signatures.` : null
    },
    refetch: (id) => refetch(state, id),
    stop() {
      state.isStopped = true
      for (const { cancel } of state.providers.values()) cancel()
    },
  }
}

/** Updates `state.providers` from the registry. Returns the new providers. */
async function reload(state: State): Promise<readonly Provider[]> {
  const { providers, store } = state
  const records = await state.registered()
  const ids = new Set(records.map(({ id }) => id))
  for (const [id, { record, cancel }] of providers) {
    if (ids.has(id)) continue
    cancel()
    providers.delete(id)
    await attempt(state, 'provider_keys_not_kept', () => store.remove(record))
  }
  const added: Provider[] = []
  for (const record of records) {
    const before = providers.get(record.id)
    if (before?.record.issuer === record.issuer) {
      before.record = record
      continue
    }
    before?.cancel()
    const published = await store.load(record.id, record.issuer)
    const provider: Provider = {
      record,
      published,
      failures: 0,
      refetchAfterMs: 0,
      fetching: null,
      cancel: () => {},
    }
    providers.set(record.id, provider)
    added.push(provider)
  }
  return added
}

function publishAll({ providers, publish }: State): Promise<void> {
  const plans = [...providers.values()].map(({ record, published }) => ({ ...record, keys: published?.keys ?? [] }))
  return publish(plans)
}

async function renewAll(state: State, providers: readonly Provider[]): Promise<void> {
  const waiting = providers.values()
  const work = async (): Promise<void> => {
    for (const provider of waiting) await attempt(state, 'provider_keys_not_published', () => renew(state, provider))
  }
  await Promise.all(Array.from({ length: FETCHES_MAX }, work))
}

async function refetch(state: State, id: string): Promise<boolean> {
  const { providers, clock, count, isStopped } = state
  const provider = providers.get(id)
  if (provider === undefined || isStopped) return false
  if (provider.fetching !== null) return provider.fetching
  if (provider.refetchAfterMs > clock.nowMs()) {
    count('provider_refetch_rests')
    return false
  }
  provider.refetchAfterMs = clock.nowMs() + REFETCH_PAUSE_MS
  const isChanged = await renew(state, provider, fetchKnownKeySet)
  // A forged key name causes only fetches without new keys.
  if (isChanged) provider.refetchAfterMs = 0
  return isChanged
}

/** Fetches the keys of a provider, one fetch at a time. Returns whether they have changed. */
function renew(state: State, provider: Provider, fetchPublished: FetchPublished = fetchAll): Promise<boolean> {
  provider.cancel()
  provider.fetching ??= fetchOnce(state, provider, fetchPublished).finally(() => {
    provider.fetching = null
    schedule(state, provider)
  })
  return provider.fetching
}

async function fetchOnce(state: State, provider: Provider, fetchPublished: FetchPublished): Promise<boolean> {
  const { providers, store, count, log } = state
  const result = await fetchPublished(state, provider)
  const { record, published: before } = provider
  if (providers.get(record.id) !== provider) return false
  if ('fault' in result) {
    provider.failures++
    count('provider_away')
    const fields = { provider: record.id, issuer: record.issuer, fault: result.fault }
    log.warn(fields, 'identity provider unreachable; its last keys stay in use, retrying')
    return false
  }
  provider.failures = 0
  provider.published = result
  if (before !== null && JSON.stringify(before) === JSON.stringify(result)) return false
  await attempt(state, 'provider_keys_not_kept', () => store.save(record, result))
  try {
    await publishAll(state)
  } catch (cause) {
    // Makes the next fetch publish the keys.
    provider.published = before
    throw cause
  }
  count('provider_keys_changed')
  return true
}

function fetchAll({ fetch }: State, { record }: Provider): Promise<Published | DiscoveryFault> {
  return discover(record.issuer, fetch)
}

/** Skips the discovery document if the address of the key set is known, because a call is waiting. */
async function fetchKnownKeySet(state: State, provider: Provider): Promise<Published | DiscoveryFault> {
  if (provider.published === null) return fetchAll(state, provider)
  const { jwksUri } = provider.published
  const found = await fetchKeys(jwksUri, state.fetch)
  return 'fault' in found ? found : { jwksUri, keys: found.keys }
}

function schedule(state: State, provider: Provider): void {
  const { providers, clock, random, isStopped } = state
  provider.cancel()
  if (isStopped || providers.get(provider.record.id) !== provider) return
  const pauseMs = provider.failures === 0 ? REFRESH_MS : exponentialDelayMs(provider.failures, RETRY)
  const delayMs = Math.round(withJitter(pauseMs, JITTER, random()))
  provider.cancel = clock.after(delayMs, () => {
    void attempt(state, 'provider_keys_not_published', () => renew(state, provider))
  })
}

/** Counts and logs a failure instead of rejecting, because the next refresh repeats the work. */
async function attempt({ count, log }: State, reason: EventReason, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (cause) {
    count(reason)
    log.warn(
      { err: cause },
      'keys of an identity provider could not be stored or published; retrying at the next refresh',
    )
  }
}
