/**
 * The credentials one thread has seen, by name, and what each opens now.
 *
 * Asked for once, however many calls wait; corrected by the main thread. The last word on a credential
 * is kept with its version, also when it is that the credential is revoked: an answer that was asked
 * for earlier and comes later carries a lower version and changes nothing. When the bound is reached
 * the oldest are forgotten and asked for again; who relies on a grant asks for the latest word each time.
 */

import type { CredentialName, Grant } from '../catalogue/grant.ts'

export interface GrantCache {
  /** The grant as last heard of, `undefined` where it must be asked for. */
  known(name: CredentialName): Grant | null | undefined
  ask(name: CredentialName): Promise<Grant | null>
  /** The newest word on a credential; older ones are passed over. */
  apply(grant: Grant): void
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

export function createGrantCache(options: GrantCacheOptions): GrantCache {
  const { resolve, grantsMax = GRANTS_MAX, pendingMax = PENDING_MAX } = options
  const byCredential = new Map<string, Grant>()
  const credentials = new Map<string, string>()
  const pending = new Map<string, Promise<Grant | null>>()

  function apply(grant: Grant): Grant {
    const before = byCredential.get(grant.credential)
    if (before !== undefined && before.version >= grant.version) return before
    byCredential.delete(grant.credential)
    byCredential.set(grant.credential, grant)
    if (byCredential.size > grantsMax) byCredential.delete(byCredential.keys().next().value!)
    return grant
  }

  async function fetch(name: CredentialName, key: string): Promise<Grant | null> {
    try {
      const grant = await resolve(name)
      if (grant === null) return null
      credentials.set(key, grant.credential)
      if (credentials.size > grantsMax) credentials.delete(credentials.keys().next().value!)
      return apply(grant)
    } finally {
      pending.delete(key)
    }
  }

  return {
    known(name) {
      const credential = credentials.get(keyOf(name))
      return credential === undefined ? undefined : byCredential.get(credential)
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
    apply: (grant) => void apply(grant),
    latest: (credential) => byCredential.get(credential),
  }
}

function keyOf(name: CredentialName): string {
  return name.kind === 'client' ? `c ${name.clientId}` : `k ${name.hash}`
}
