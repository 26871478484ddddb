/**
 * Checks whether a URL may be registered as a target: the URL itself (`url-guard.ts`), and the current addresses of its host.
 *
 * A host that does not resolve is accepted, because every connection checks it again.
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

/** The check returns why a URL may not be registered, or null. */
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
