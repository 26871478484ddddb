/**
 * Whether a URL may be registered as a target: by what it says (`url-guard.ts`), and by where its host leads now.
 *
 * A host that leads nowhere now is taken: it is judged again at every connection, which is what protects us.
 */

import type { Clock } from '../runtime/clock.ts'
import { isPublicAddress } from './address-guard.ts'
import { createAddressesOf } from './addresses-of.ts'
import { systemResolve, type Resolve } from './guarded-lookup.ts'
import { refuseUrl } from './url-guard.ts'

export interface TargetCheckOptions {
  readonly clock: Pick<Clock, 'after'>
  readonly allowPrivate: boolean
  readonly resolve?: Resolve
}

/** Null where it may be registered, else why not. */
export function createTargetCheck({ clock, allowPrivate, resolve = systemResolve }: TargetCheckOptions) {
  const addressesOf = createAddressesOf({ clock, resolve })

  return async (url: string): Promise<string | null> => {
    const fault = refuseUrl(url, { allowPrivate })
    if (fault !== null || allowPrivate) return fault
    const hostname = new URL(url).hostname.replace(/^\[|\]$/g, '')
    const isPublic = (await addressesOf(hostname)).every(isPublicAddress)
    return isPublic ? null : 'The host must resolve to public addresses only.'
  }
}
