/**
 * The keys of all registered providers, kept fresh and given to the gateway's threads.
 *
 * Keys are fetched again every ten minutes, and at once where a token names one that is not known: by one
 * shared fetch, and after one that brought nothing not before a rest is over, so that forged names cost a
 * provider nothing. While a provider is away its last keys go on to be served, also after a restart; it is
 * tried again with growing pauses. What it publishes when it answers is its word, also that a key is gone.
 *
 * Every change is published as the whole, from what is known at that moment: a later one is never
 * overtaken by an earlier.
 */

import type { ProviderPlan } from '../../plan/provider-plan.ts'
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts'
import { exponentialDelayMs, withJitter } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { Registry } from '../../store/registry.ts'
import { discover, fetchKeys, type DiscoveryFault, type Published } from './discover.ts'
import { createProviderKeyStore } from './provider-key-store.ts'

/** A provider as it is registered. */
export type ProviderRecord = Omit<ProviderPlan, 'keys'>

export interface Federation {
  /** Takes over what is registered, publishes the keys that are kept, and begins to fetch the others. */
  start(): Promise<void>
  /** Providers were registered or removed; resolves when every thread knows, new ones with their keys if they answer. */
  changed(): Promise<void>
  /** Why a provider cannot be used now; null where it can. */
  probe(issuer: string): Promise<string | null>
  /** True where the provider was asked and its keys have changed; published before the answer. */
  refetch(provider: string): Promise<boolean>
  stop(): void
}

export interface FederationOptions {
  readonly providers: () => Promise<readonly ProviderRecord[]>
  readonly registry: Registry
  readonly fetch: GuardedFetch['fetch']
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'info'>
  readonly count: (reason: string) => void
  /** From 0 to 1; spreads the fetches. */
  readonly random: () => number
  readonly publish: (plans: readonly ProviderPlan[]) => Promise<void>
}

/** What is known of one provider. */
interface Known {
  record: ProviderRecord
  published: Published | null
  failures: number
  restsUntilMs: number
  fetching: Promise<boolean> | null
  cancel: () => void
}

const REFRESH_MS = 600_000
const REST_MS = 30_000
const RETRY = { firstMs: 5_000, maxMs: REFRESH_MS }
const JITTER = 0.1
/** At once, at the start. */
const FETCHES_MAX = 16

export function createFederation(options: FederationOptions): Federation {
  const { providers, fetch, clock, log, count, random, publish } = options
  const kept = createProviderKeyStore(options.registry)
  const known = new Map<string, Known>()
  let turn: Promise<unknown> = Promise.resolve()
  let isStopped = false

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work)
    turn = done.catch(() => {})
    return done
  }

  function publishAll(): Promise<void> {
    const plans = [...known.values()].map(({ record, published }) => ({ ...record, keys: published?.keys ?? [] }))
    return publish(plans)
  }

  /** Brings `known` to what is registered; the providers that are new. */
  async function reload(): Promise<readonly Known[]> {
    const records = await providers()
    const ids = new Set(records.map(({ id }) => id))
    for (const [id, { record, cancel }] of known) {
      if (ids.has(id)) continue
      cancel()
      known.delete(id)
      await unharmed('provider_keys_not_kept', () => kept.remove(record))
    }
    const fresh: Known[] = []
    for (const record of records) {
      const before = known.get(record.id)
      if (before?.record.issuer === record.issuer) {
        before.record = record
        continue
      }
      before?.cancel()
      const published = await kept.load(record.id, record.issuer)
      const one: Known = { record, published, failures: 0, restsUntilMs: 0, fetching: null, cancel: () => {} }
      known.set(record.id, one)
      fresh.push(one)
    }
    return fresh
  }

  /** One fetch at a time for each provider; true where its keys have changed. */
  function renew(one: Known, ask: (one: Known) => Promise<Published | DiscoveryFault> = askWhole): Promise<boolean> {
    one.cancel()
    one.fetching ??= fetchOnce(one, ask).finally(() => {
      one.fetching = null
      schedule(one)
    })
    return one.fetching
  }

  async function fetchOnce(one: Known, ask: (one: Known) => Promise<Published | DiscoveryFault>): Promise<boolean> {
    const result = await ask(one)
    const { record, published: before } = one
    if (known.get(record.id) !== one) return false
    if ('fault' in result) {
      one.failures++
      count('provider_away')
      log.warn(
        { provider: record.id, issuer: record.issuer, fault: result.fault },
        'identity provider unreachable; its last keys stay in use, retrying',
      )
      return false
    }
    one.failures = 0
    one.published = result
    if (before !== null && JSON.stringify(before) === JSON.stringify(result)) return false
    await unharmed('provider_keys_not_kept', () => kept.save(record, result))
    try {
      await publishAll()
    } catch (cause) {
      // So that the next fetch publishes it.
      one.published = before
      throw cause
    }
    count('provider_keys_changed')
    return true
  }

  const askWhole = ({ record }: Known): Promise<Published | DiscoveryFault> => discover(record.issuer, fetch)

  /** A call waits for it: where the keys lie is known, if ever it was. */
  async function askKeys(one: Known): Promise<Published | DiscoveryFault> {
    if (one.published === null) return askWhole(one)
    const { jwksUri } = one.published
    const found = await fetchKeys(jwksUri, fetch)
    return 'fault' in found ? found : { jwksUri, keys: found.keys }
  }

  function schedule(one: Known): void {
    one.cancel()
    if (isStopped || known.get(one.record.id) !== one) return
    const pauseMs = one.failures === 0 ? REFRESH_MS : exponentialDelayMs(one.failures, RETRY)
    const delayMs = Math.round(withJitter(pauseMs, JITTER, random()))
    one.cancel = clock.after(delayMs, () => void unharmed('provider_keys_not_published', () => renew(one)))
  }

  async function renewAll(all: readonly Known[]): Promise<void> {
    const waiting = all.values()
    const work = async (): Promise<void> => {
      for (const one of waiting) await unharmed('provider_keys_not_published', () => renew(one))
    }
    await Promise.all(Array.from({ length: FETCHES_MAX }, work))
  }

  /** Nothing of this may end the process: what failed is tried again when its time comes. */
  async function unharmed(reason: string, work: () => Promise<unknown>): Promise<void> {
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

  return {
    start: () =>
      inTurn(async () => {
        const fresh = await reload()
        await publishAll()
        void renewAll(fresh)
      }),
    async changed() {
      const fresh = await inTurn(async () => {
        const added = await reload()
        await publishAll()
        return added
      })
      await Promise.all(fresh.map((one) => renew(one)))
    },
    async probe(issuer) {
      const found = await discover(issuer, fetch)
      if ('fault' in found) return found.fault
      return found.keys.length === 0 ? `${found.jwksUri} has no key that can verify signatures.` : null
    },
    async refetch(provider) {
      const one = known.get(provider)
      if (one === undefined || isStopped) return false
      if (one.fetching !== null) return one.fetching
      if (one.restsUntilMs > clock.nowMs()) {
        count('provider_refetch_rests')
        return false
      }
      one.restsUntilMs = clock.nowMs() + REST_MS
      const isChanged = await renew(one, askKeys)
      // Only a fetch that brings nothing is one that a forged name can cause.
      if (isChanged) one.restsUntilMs = 0
      return isChanged
    },
    stop() {
      isStopped = true
      for (const { cancel } of known.values()) cancel()
    },
  }
}
