/**
 * Decides whether an address belongs to the public internet, against server-side request forgery.
 *
 * Customers name issuers, webhook targets and backends, and none of them may lead into the network of this service.
 * Refuses every IPv6 address outside global unicast (2000::/3), and the special-purpose ranges of IANA (RFC 6890).
 * An IPv4 address embedded in IPv6 is checked as IPv4 if hosts reach it that way (mapped, NAT64); the older embeddings
 * (compatible, 6to4, Teredo) are refused. Cloud metadata services are in the link-local, unique-local and shared
 * ranges, and one has an address that looks public.
 */

import { BlockList, isIPv4, isIPv6 } from 'node:net'

type Subnet = readonly [address: string, prefixLength: number]

const REFUSED_V4 = toBlockList('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The host of Azure, which serves settings and secrets to its guests.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
])

const GLOBAL_UNICAST = toBlockList('ipv6', [['2000::', 3]])
/** Special-purpose ranges within global unicast. */
const REFUSED_V6 = toBlockList('ipv6', [
  // Protocol assignments: Teredo, benchmarking, ORCHID.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
])

/** IPv4 in the last 32 bits: mapped, and NAT64. */
const EMBEDDED_V4 = toBlockList('ipv6', [
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
])

/** Returns false for anything that is not a plain address. */
export function isPublicAddress(address: string): boolean {
  const reached = toReachedAddress(address)
  if (isIPv4(reached)) return !REFUSED_V4.check(reached, 'ipv4')
  // A zone names a local network interface.
  if (!isIPv6(reached) || reached.includes('%')) return false
  return GLOBAL_UNICAST.check(reached, 'ipv6') && !REFUSED_V6.check(reached, 'ipv6')
}

/** Returns the IPv4 address within a mapped or NAT64 address, else the address itself in its canonical spelling. */
export function toReachedAddress(address: string): string {
  if (!isIPv6(address) || address.includes('%')) return address
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  return EMBEDDED_V4.check(canonical, 'ipv6') ? toEmbeddedV4(canonical) : canonical
}

/** `canonical` has `::` before its last two groups, of which leading zeros may be left out. */
function toEmbeddedV4(canonical: string): string {
  const groups = canonical.slice(canonical.indexOf('::') + 2).split(':')
  const [high = 0, low = 0] = ['', ...groups].slice(-2).map((group) => Number.parseInt(group || '0', 16))
  return [high >>> 8, high & 0xff, low >>> 8, low & 0xff].join('.')
}

function toBlockList(family: 'ipv4' | 'ipv6', subnets: readonly Subnet[]): BlockList {
  const list = new BlockList()
  for (const [address, prefixLength] of subnets) list.addSubnet(address, prefixLength, family)
  return list
}
