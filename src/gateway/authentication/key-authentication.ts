/** Authenticates API keys: by the cache of verified keys, otherwise by a look-up of the key's hash. */

import { isApiKeyShaped } from '../../boundary/plan/credential-format.ts'
import { toCacheKey, type CallerCache } from './caller-cache.ts'
import { refuseUnverified, type AuthenticationResult } from './credential-refusal.ts'
import type { GrantLookup } from './grant-lookup.ts'
import { checkCaller, toKeyCaller, type KnownCaller } from './known-caller.ts'

export interface KeyAuthenticationOptions {
  readonly callers: CallerCache<KnownCaller>
  readonly lookup: GrantLookup
  readonly keyedHash: (text: string) => string
  readonly nowMs: () => number
}

const UNKNOWN = refuseUnverified('The credential is unknown.')
const MALFORMED = refuseUnverified('The value of x-api-key is not an API key of this gateway.')

export class KeyAuthentication {
  readonly #options: KeyAuthenticationOptions

  constructor(options: KeyAuthenticationOptions) {
    this.#options = options
  }

  authenticate(apiKey: string, api: string): AuthenticationResult {
    const { callers, lookup, keyedHash, nowMs } = this.#options
    const known = lookup.recall(callers, apiKey) ?? lookup.recall(callers, toCacheKey(apiKey, api))
    if (known !== undefined) return checkCaller(known, api, nowMs())
    if (!isApiKeyShaped(apiKey)) return MALFORMED
    return lookup.find({ kind: 'key', hash: keyedHash(apiKey) }, UNKNOWN, (grant) => {
      const caller = toKeyCaller(grant, api)
      callers.set(grant.apiProductId === '' ? apiKey : toCacheKey(apiKey, api), caller)
      return checkCaller(caller, api, nowMs())
    })
  }
}
