/**
 * Resolves a host name for one connection and returns its addresses only if all of them are allowed.
 *
 * The connection uses exactly the addresses that were checked, so an answer that changes between two look-ups (DNS
 * rebinding) has no effect. One refused address refuses the name, because the connection may use any of its addresses.
 */

import { lookup } from 'node:dns/promises'
import type { LookupAddress, LookupOptions } from 'node:dns'
import { systemClock } from '../runtime/clock.ts'
import { createSharedResolve, type Resolve } from './shared-resolve.ts'

export type { Resolve }

/** The `lookup` option of `net.connect`. */
export type Lookup = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void

/** A host name resolves to an address that is not allowed. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** One per thread. */
export const systemResolve: Resolve = createSharedResolve((hostname) => lookup(hostname, { all: true }), systemClock)

export function createGuardedLookup(resolve: Resolve, isAllowed: (address: string) => boolean): Lookup {
  return createJudgedLookup(resolve, async (addresses, hostname) => {
    const refused = addresses.find((address) => !isAllowed(address))
    if (refused !== undefined)
      throw new AddressRefused(`${hostname} resolves to ${refused}, which is not a public address`)
  })
}

/** Like `createGuardedLookup`, for a `check` of all addresses of a name, which rejects to refuse them. */
export function createJudgedLookup(
  resolve: Resolve,
  check: (addresses: readonly string[], hostname: string) => Promise<void>,
): Lookup {
  async function resolveChecked(hostname: string): Promise<LookupAddress[]> {
    const addresses = await resolve(hostname)
    if (addresses.length === 0) throw new Error(`${hostname} has no address`)
    await check(
      addresses.map(({ address }) => address),
      hostname,
    )
    return addresses.map(({ address, family }) => ({ address, family }))
  }

  return (hostname, options, callback) => {
    resolveChecked(hostname).then(
      (addresses) => {
        const { address, family } = addresses[0] as LookupAddress
        if (options.all === true) callback(null, addresses)
        else callback(null, address, family)
      },
      (cause: unknown) => callback(cause instanceof Error ? cause : new Error(String(cause)), []),
    )
  }
}
