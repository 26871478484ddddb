/**
 * Grants of the credentials that one thread has seen, by the name of the credential.
 *
 * A grant is fetched once, however many calls wait for it, and updated by the main thread. The highest version
 * wins, also when it revokes the credential, so a late response to an earlier request changes nothing. At its bound
 * the cache evicts its oldest grants, which are fetched again when they are needed; callers read the latest grant
 * at each call.
 *
 * An unknown key stays unknown, because keys are random and are stored before they are handed out: a client that
 * keeps sending a wrong key costs the main thread one request in total. A federated client may get a subscription
 * at any time, so its entry, also an unknown one, is valid until a grant, a membership or a provider of its tenant
 * changes.
 */

import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'

export interface GrantCache {
  /** Returns the grant, null if there is none, or `undefined` if it must be fetched. */
  cached(name: CredentialName): Grant | null | undefined
  /** Rejects with `GrantsBusy` at the bound of concurrent requests. */
  fetch(name: CredentialName): Promise<Grant | null>
  /** Stores the grant unless a newer version is cached. */
  apply(grant: Grant): void
  /** Invalidates the federated names of the tenant, also those with a request in flight. */
  invalidateNames(tenant: string): void
  /** Returns the newest version; `undefined` if none is cached. */
  latest(credential: string): Grant | undefined
}

export interface GrantCacheOptions {
  readonly resolve: (name: CredentialName) => Promise<Grant | null>
  readonly grantsMax?: number
  readonly pendingMax?: number
}

/** Thrown if too many grants are being fetched. */
export class GrantsBusy extends Error {
  override readonly name = 'GrantsBusy'
}

const GRANTS_MAX = 200_000
const PENDING_MAX = 1_000
const UNKNOWN_MAX = 10_000

export function createGrantCache({
  resolve,
  grantsMax = GRANTS_MAX,
  pendingMax = PENDING_MAX,
}: GrantCacheOptions): GrantCache {
  const versions = new GrantVersions(grantsMax)
  const names = new CredentialNames(grantsMax)
  const pending = new Map<string, Promise<Grant | null>>()

  async function request(name: CredentialName, key: string): Promise<Grant | null> {
    try {
      const grant = await resolve(name)
      names.set(name, key, grant)
      return grant === null ? null : versions.apply(grant)
    } finally {
      pending.delete(key)
    }
  }

  return {
    invalidateNames: (tenant) => names.invalidate(tenant),
    cached(name) {
      const credential = names.find(names.keyOf(name))
      return typeof credential === 'string' ? versions.latest(credential) : credential
    },
    fetch(name) {
      const key = names.keyOf(name)
      const waiting = pending.get(key)
      if (waiting !== undefined) return waiting
      if (pending.size >= pendingMax) return Promise.reject(new GrantsBusy('too many credential look-ups are pending'))
      const requested = request(name, key)
      pending.set(key, requested)
      return requested
    },
    apply(grant) {
      const before = versions.latest(grant.credential)
      versions.apply(grant)
      // The client may have been unknown before, or another of its subscriptions may replace this one.
      const isSame = before?.valid === grant.valid && before.active === grant.active
      if (grant.type === 'Federated' && !isSame) names.invalidate(grant.tenant)
    },
    latest: (credential) => versions.latest(credential),
  }
}

/** Latest grant of each credential. */
class GrantVersions {
  readonly #grantsMax: number
  readonly #byCredential = new Map<string, Grant>()

  constructor(grantsMax: number) {
    this.#grantsMax = grantsMax
  }

  latest(credential: string): Grant | undefined {
    return this.#byCredential.get(credential)
  }

  /** Returns the newer one of `grant` and the grant that is stored. */
  apply(grant: Grant): Grant {
    const before = this.#byCredential.get(grant.credential)
    if (before !== undefined && !isNewer(grant, before)) return before
    this.#byCredential.delete(grant.credential)
    this.#byCredential.set(grant.credential, grant)
    evictOldest(this.#byCredential, this.#grantsMax)
    return grant
  }
}

/** Credentials by name, and names that are known to have none. */
class CredentialNames {
  readonly #namesMax: number
  readonly #credentials = new Map<string, string>()
  readonly #unknownKeys = new Set<string>()
  readonly #unknownClients = new Set<string>()
  /** By tenant: part of the key of each federated name, so that a new generation invalidates all of them. */
  readonly #generations = new Map<string, number>()

  constructor(namesMax: number) {
    this.#namesMax = namesMax
  }

  /** Returns a text that differs for different names. */
  keyOf(name: CredentialName): string {
    switch (name.kind) {
      case 'client':
        return `c ${name.clientId}`
      case 'subscription':
        return `s ${name.subscription}`
      case 'key':
        return `k ${name.hash}`
      case 'federated': {
        const { tenant, issuer, clientId, api } = name
        return `f ${JSON.stringify([this.#generations.get(tenant) ?? 0, tenant, issuer, clientId, api])}`
      }
      default:
        return name satisfies never
    }
  }

  /** Returns the credential, null if there is none, or `undefined` if the name is not cached. */
  find(key: string): string | null | undefined {
    const credential = this.#credentials.get(key)
    if (credential !== undefined) return credential
    return this.#unknownKeys.has(key) || this.#unknownClients.has(key) ? null : undefined
  }

  /**
   * Does not cache an unknown client or subscription of this gateway: verified tokens name them, so they rarely name
   * unknown ones.
   */
  set(name: CredentialName, key: string, grant: Grant | null): void {
    if (grant !== null) {
      this.#credentials.set(key, grant.credential)
      return evictOldest(this.#credentials, this.#namesMax)
    }
    if (name.kind === 'client' || name.kind === 'subscription') return
    const unknown = name.kind === 'key' ? this.#unknownKeys : this.#unknownClients
    unknown.add(key)
    evictOldest(unknown, UNKNOWN_MAX)
  }

  invalidate(tenant: string): void {
    this.#generations.set(tenant, (this.#generations.get(tenant) ?? 0) + 1)
  }
}

/** At the same version the stricter grant wins: each one was read before a change that the other one contains. */
function isNewer(grant: Grant, before: Grant): boolean {
  if (grant.version !== before.version) return grant.version > before.version
  return (before.valid && !grant.valid) || (before.valid === grant.valid && before.active && !grant.active)
}

/** Maps and sets iterate in insertion order. */
function evictOldest(collection: Map<string, unknown> | Set<string>, sizeMax: number): void {
  for (const key of collection.keys()) {
    if (collection.size <= sizeMax) return
    collection.delete(key)
  }
}
