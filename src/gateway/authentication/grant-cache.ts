/**
 * The credentials one thread has seen, by name, and what each opens now.
 *
 * Asked for once, however many calls wait; corrected by the main thread. The last word on a credential
 * is kept with its version, also when it is that the credential is revoked: an answer that was asked
 * for earlier and comes later carries a lower version and changes nothing. When the bound is reached
 * the oldest are forgotten and asked for again; who relies on a grant asks for the latest word each time.
 *
 * A key that is not known stays unknown: keys are random and exist before they are handed out. So a
 * client that goes on with a wrong key costs the main thread one question and not one a call. A federated
 * client may be subscribed at any time: what is known of its name, also that it is none, holds until a
 * grant, a membership or a provider of its tenant changes.
 */

import type { CredentialName, Grant } from '../../plan/grant.ts'

export interface GrantCache {
  /** The grant as last heard of, null where there is none, `undefined` where it must be asked for. */
  known(name: CredentialName): Grant | null | undefined
  ask(name: CredentialName): Promise<Grant | null>
  /** The newest word on a credential; older ones are passed over. */
  apply(grant: Grant): void
  /** Federated names of the tenant are asked for again, also those that are being asked for now. */
  forgetNames(tenant: string): void
  /** The newest word on a credential, `undefined` where nothing is remembered of it. */
  latest(credential: string): Grant | undefined
}

export interface GrantCacheOptions {
  readonly resolve: (name: CredentialName) => Promise<Grant | null>
  readonly grantsMax?: number
  readonly pendingMax?: number
}

/** Too many credentials are being asked for at once. */
export class GrantsBusy extends Error {
  override readonly name = 'GrantsBusy'
}

const GRANTS_MAX = 200_000
const PENDING_MAX = 1_000
const UNKNOWN_MAX = 10_000

export function createGrantCache(options: GrantCacheOptions): GrantCache {
  const { resolve, grantsMax = GRANTS_MAX, pendingMax = PENDING_MAX } = options
  const byCredential = new Map<string, Grant>()
  const credentials = new Map<string, string>()
  const unknownKeys = new Set<string>()
  const unknownClients = new Set<string>()
  /** By tenant: part of each federated name, so that a new number forgets them all. */
  const generations = new Map<string, number>()
  const pending = new Map<string, Promise<Grant | null>>()

  function apply(grant: Grant): Grant {
    const before = byCredential.get(grant.credential)
    if (before !== undefined && !isNewer(grant, before)) return before
    byCredential.delete(grant.credential)
    byCredential.set(grant.credential, grant)
    dropOldest(byCredential, grantsMax)
    return grant
  }

  async function fetch(name: CredentialName, key: string): Promise<Grant | null> {
    try {
      const grant = await resolve(name)
      if (grant === null) {
        if (name.kind === 'client') return null
        const unknown = name.kind === 'key' ? unknownKeys : unknownClients
        unknown.add(key)
        dropOldest(unknown, UNKNOWN_MAX)
        return null
      }
      credentials.set(key, grant.credential)
      dropOldest(credentials, grantsMax)
      return apply(grant)
    } finally {
      pending.delete(key)
    }
  }

  function forgetNames(tenant: string): void {
    generations.set(tenant, (generations.get(tenant) ?? 0) + 1)
  }

  /** No two names make one text. */
  function keyOf(name: CredentialName): string {
    if (name.kind === 'client') return `c ${name.clientId}`
    if (name.kind === 'key') return `k ${name.hash}`
    const { tenant, issuer, clientId, api } = name
    return `f ${JSON.stringify([generations.get(tenant) ?? 0, tenant, issuer, clientId, api])}`
  }

  return {
    forgetNames,
    known(name) {
      const key = keyOf(name)
      const credential = credentials.get(key)
      if (credential !== undefined) return byCredential.get(credential)
      return unknownKeys.has(key) || unknownClients.has(key) ? null : undefined
    },
    ask(name) {
      const key = keyOf(name)
      const waiting = pending.get(key)
      if (waiting !== undefined) return waiting
      if (pending.size >= pendingMax) return Promise.reject(new GrantsBusy('too many credentials are looked up'))
      const asked = fetch(name, key)
      pending.set(key, asked)
      return asked
    },
    apply(grant) {
      const before = byCredential.get(grant.credential)
      apply(grant)
      // It may stand behind a name that was unknown, or free one for another.
      const isSame = before?.valid === grant.valid && before.active === grant.active
      if (grant.type === 'Federated' && !isSame) forgetNames(grant.tenant)
    },
    latest: (credential) => byCredential.get(credential),
  }
}

/** Of two readings with one version the stricter holds: each saw a change that the other did not. */
function isNewer(grant: Grant, before: Grant): boolean {
  if (grant.version !== before.version) return grant.version > before.version
  return (before.valid && !grant.valid) || (before.valid === grant.valid && before.active && !grant.active)
}

/** Maps and sets give their oldest first. */
function dropOldest(collection: Map<string, unknown> | Set<string>, sizeMax: number): void {
  for (const key of collection.keys()) {
    if (collection.size <= sizeMax) return
    collection.delete(key)
  }
}
