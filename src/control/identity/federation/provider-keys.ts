/**
 * Fetches the keys of all registered identity providers, keeps them current, and publishes them to the gateway threads.
 *
 * Keys are fetched every ten minutes, and immediately when a token names an unknown key id. Concurrent calls share one fetch. If it
 * finds no new keys, further fetches of this kind are suppressed for 30 seconds, so that forged key ids cause little load on the
 * provider. While a provider is unreachable its last known keys stay in use, even after a restart, and retries back off. A successful
 * fetch replaces all keys, so a key that the provider has removed is removed here too.
 *
 * Every publication contains the current keys of all providers, so an older state never overwrites a newer one.
 */

import type { CountEvent, EventReason } from '../../../foundation/runtime/event-reasons.ts'
import type { ProviderPlan } from '../../../boundary/plan/provider-plan.ts'
import type { GuardedFetch } from '../../../foundation/outbound/guarded-fetch.ts'
import { exponentialDelayMs, withJitter } from '../../../foundation/runtime/backoff.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { restOfPause } from '../../../foundation/runtime/rest-of-pause.ts'
import type { Log } from '../../../foundation/runtime/log.ts'
import type { Registry } from '../../../storage/store/registry.ts'
import { discover, fetchKeys, type DiscoveryFault, type Published } from './discover.ts'
import { createProviderKeyStore, type ProviderKeyStore } from './provider-key-store.ts'

/** A registered provider, without its keys. */
export type ProviderRecord = Omit<ProviderPlan, 'keys'>

/** The use of a provider: to verify its tokens, or also to sign people in. */
export type ProviderUse = 'tokens' | 'signIn'

export interface Federation {
  /** Loads the registered providers, publishes their stored keys, and starts to fetch. */
  start(): Promise<void>
  /**
   * Applies changes of the registered providers. Resolves when every gateway thread has the new list, and the keys of each new provider
   * that could be reached. `created`: a new provider, which `follow` may have added before.
   */
  changed(created?: string): Promise<void>
  /**
   * Applies changes that another node has made. Resolves when every gateway thread has the new list; keys of new providers follow, so that
   * a slow provider delays no removal.
   */
  follow(): Promise<void>
  /** Returns why a provider cannot be used now, or null. */
  probe(issuer: string, use?: ProviderUse): Promise<string | null>
  /** Returns what the provider published at the last successful fetch; null if none has succeeded yet. */
  publishedBy(provider: string): Published | null
  /** Fetches the keys of a provider immediately, and publishes new ones. Returns whether they have changed. */
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
  /** Returns a number in [0, 1), which spreads the fetches. */
  readonly random: () => number
  readonly publish: (plans: readonly ProviderPlan[]) => Promise<void>
}

interface Provider {
  record: ProviderRecord
  published: Published | null
  /** True if the registry has the published keys. */
  isStored: boolean
  failures: number
  /** No refetch before this time. */
  refetchAfterMs: number
  fetching: Promise<boolean> | null
  cancel: () => void
}

interface State extends Omit<FederationOptions, 'providers' | 'registry'> {
  readonly listRegistered: FederationOptions['providers']
  readonly store: ProviderKeyStore
  readonly providers: Map<string, Provider>
  isStopped: boolean
}

type FetchPublished = (state: State, provider: Provider) => Promise<Published | DiscoveryFault>

const REFRESH_MS = 600_000
const REFETCH_PAUSE_MS = 30_000
const RETRY = { firstMs: 5_000, maxMs: REFRESH_MS }
const JITTER = 0.1
const NO_SIGN_IN =
  'The provider publishes no authorization endpoint, token endpoint, client_secret_basic or client_secret_post, or asymmetric algorithm.'
/** Limit of concurrent fetches at startup. */
const FETCHES_MAX = 16

export function createFederation({ providers, registry, ...options }: FederationOptions): Federation {
  const store = createProviderKeyStore(registry)
  const state: State = { ...options, listRegistered: providers, store, providers: new Map(), isStopped: false }
  let queue: Promise<unknown> = Promise.resolve()

  /** Waits for earlier reloads, then reloads and publishes. Returns the new providers. */
  function reloadInOrder(): Promise<readonly Provider[]> {
    const done = queue.then(async () => {
      const added = await reload(state)
      await publishAll(state)
      return added
    })
    queue = done.catch(() => {})
    return done
  }

  async function follow(): Promise<void> {
    const added = await reloadInOrder()
    void renewAll(state, added)
  }

  return {
    start: follow,
    follow,
    async changed(created) {
      const added = new Set(await reloadInOrder())
      const made = created === undefined ? undefined : state.providers.get(created)
      if (made !== undefined && made.published === null) added.add(made)
      await Promise.all([...added].map((provider) => renew(state, provider)))
    },
    publishedBy: (id) => state.providers.get(id)?.published ?? null,
    async probe(issuer, use = 'tokens') {
      const found = await discover(issuer, state.fetch)
      if ('fault' in found) return found.fault
      if (use === 'signIn' && found.signIn === null) return NO_SIGN_IN
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
  const records = await state.listRegistered()
  const ids = new Set(records.map(({ id }) => id))
  for (const [id, { record, cancel }] of providers) {
    if (ids.has(id)) continue
    cancel()
    providers.delete(id)
    await runAndLogFailure(state, 'provider_keys_not_kept', () => store.remove(record))
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
      isStored: published !== null,
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
  // All workers take from this iterator.
  const remaining = providers.values()
  const work = async (): Promise<void> => {
    for (const provider of remaining)
      await runAndLogFailure(state, 'provider_keys_not_published', () => renew(state, provider))
  }
  await Promise.all(Array.from({ length: FETCHES_MAX }, work))
}

async function refetch(state: State, id: string): Promise<boolean> {
  const { providers, clock, count, isStopped } = state
  const provider = providers.get(id)
  if (provider === undefined || isStopped) return false
  if (provider.fetching !== null) return provider.fetching
  if (restOfPause(provider.refetchAfterMs, REFETCH_PAUSE_MS, clock.nowMs()) > 0) {
    count('provider_refetch_rests')
    return false
  }
  provider.refetchAfterMs = clock.nowMs() + REFETCH_PAUSE_MS
  const isChanged = await renew(state, provider, fetchKnownKeySet)
  // The fetch has found new keys, so the key id was not forged: the next fetch need not wait.
  if (isChanged) provider.refetchAfterMs = 0
  return isChanged
}

/** Fetches the keys of a provider, one fetch at a time. Returns whether they have changed. */
function renew(
  state: State,
  provider: Provider,
  fetchPublished: FetchPublished = fetchWithDiscovery,
): Promise<boolean> {
  provider.cancel()
  provider.fetching ??= fetchAndPublish(state, provider, fetchPublished).finally(() => {
    provider.fetching = null
    schedule(state, provider)
  })
  return provider.fetching
}

async function fetchAndPublish(state: State, provider: Provider, fetchPublished: FetchPublished): Promise<boolean> {
  const { providers, count, log } = state
  const result = await fetchPublished(state, provider)
  const { record, published: before } = provider
  if (providers.get(record.id) !== provider) return false
  if ('fault' in result) {
    provider.failures++
    count('provider_away')
    const fields = { provider: record.id, issuer: record.issuer, fault: result.fault }
    log.warn(
      fields,
      'keys of an identity provider could not be fetched; its last keys stay in use until a retry succeeds',
    )
    return false
  }
  provider.failures = 0
  provider.published = result
  const isChanged = before === null || JSON.stringify(before) !== JSON.stringify(result)
  if (isChanged) provider.isStored = false
  if (!provider.isStored) await storeKeys(state, provider, result)
  if (!isChanged) return false
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

/** After a failure the next fetch stores the keys, also if it finds the same ones. */
async function storeKeys(state: State, provider: Provider, keys: Published): Promise<void> {
  await runAndLogFailure(state, 'provider_keys_not_kept', async () => {
    await state.store.save(provider.record, keys)
    provider.isStored = true
  })
}

function fetchWithDiscovery({ fetch }: State, { record }: Provider): Promise<Published | DiscoveryFault> {
  return discover(record.issuer, fetch)
}

/** Skips the discovery document if the address of the key set is known, because a call is waiting. */
async function fetchKnownKeySet(state: State, provider: Provider): Promise<Published | DiscoveryFault> {
  if (provider.published === null) return fetchWithDiscovery(state, provider)
  const { jwksUri, signIn } = provider.published
  const found = await fetchKeys(jwksUri, state.fetch)
  return 'fault' in found ? found : { jwksUri, keys: found.keys, signIn }
}

function schedule(state: State, provider: Provider): void {
  const { providers, clock, random, isStopped } = state
  provider.cancel()
  if (isStopped || providers.get(provider.record.id) !== provider) return
  const pauseMs = provider.failures === 0 ? REFRESH_MS : exponentialDelayMs(provider.failures, RETRY)
  const delayMs = Math.round(withJitter(pauseMs, JITTER, random()))
  provider.cancel = clock.after(delayMs, () => {
    void runAndLogFailure(state, 'provider_keys_not_published', () => renew(state, provider))
  })
}

/** Counts and logs a failure instead of rejecting. */
async function runAndLogFailure(
  { count, log }: State,
  reason: EventReason,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work()
  } catch (cause) {
    count(reason)
    log.warn(
      { err: cause },
      'keys of an identity provider could not be stored, removed or published; retrying at the next refresh',
    )
  }
}
