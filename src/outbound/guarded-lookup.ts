/**
 * Resolves a host name for one connection, and hands on only addresses that were judged.
 *
 * The connection is made to what was resolved here, and nobody resolves again: an answer that changes
 * from one question to the next (DNS rebinding) changes nothing. One address that is not public refuses
 * the name, since whoever connects may take any of them.
 */

import { lookup } from 'node:dns/promises'
import type { LookupAddress, LookupOptions } from 'node:dns'

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

/** As `net.connect` wants it. */
export type Lookup = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void

/** A name leads to an address that must not be connected to. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true })

export function createGuardedLookup(resolve: Resolve, isAllowed: (address: string) => boolean): Lookup {
  return createJudgedLookup(resolve, async (addresses, hostname) => {
    const refused = addresses.find((address) => !isAllowed(address))
    if (refused !== undefined)
      throw new AddressRefused(`${hostname} leads to ${refused}, which is not a public address`)
  })
}

/** As `createGuardedLookup`, for a judge that sees all addresses of a name; it rejects to refuse them. */
export function createJudgedLookup(
  resolve: Resolve,
  judge: (addresses: readonly string[], hostname: string) => Promise<void>,
): Lookup {
  async function judged(hostname: string): Promise<LookupAddress[]> {
    const addresses = await resolve(hostname)
    if (addresses.length === 0) throw new Error(`${hostname} has no address`)
    await judge(
      addresses.map(({ address }) => address),
      hostname,
    )
    return addresses.map(({ address, family }) => ({ address, family }))
  }

  return (hostname, options, callback) => {
    judged(hostname).then(
      (addresses) => {
        const { address, family } = addresses[0] as LookupAddress
        if (options.all === true) callback(null, addresses)
        else callback(null, address, family)
      },
      (cause: unknown) => callback(cause instanceof Error ? cause : new Error(String(cause)), []),
    )
  }
}
