/** Resolves a host name to its addresses. Returns none if there is no answer within two seconds. */

import type { Clock } from '../runtime/clock.ts'
import type { Resolve } from './guarded-lookup.ts'

const WITHIN_MS = 2_000

export interface AddressesOfOptions {
  readonly clock: Pick<Clock, 'after'>
  readonly resolve: Resolve
}

export function createAddressesOf({ clock, resolve }: AddressesOfOptions) {
  return async (hostname: string): Promise<readonly string[]> => {
    const { promise: late, resolve: giveUp } = Promise.withResolvers<readonly string[]>()
    const cancel = clock.after(WITHIN_MS, () => giveUp([]))
    const found = resolve(hostname).then(
      (addresses) => addresses.map(({ address }) => address),
      () => [],
    )
    try {
      return await Promise.race([found, late])
    } finally {
      cancel()
    }
  }
}
