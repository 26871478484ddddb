/**
 * Whether an address is one of the public internet: what customers name as issuers and webhook targets
 * must not lead into the network that we stand in (server-side request forgery).
 *
 * Of IPv6 only global unicast is taken (2000::/3), less what is set apart within it. An IPv4 address
 * within an IPv6 one is judged as itself where a host would be reached by it (mapped, NAT64); older
 * embeddings (compatible, 6to4, Teredo) are refused whole. What is no plain address is refused.
 * Sources: IANA's special-purpose address registries (RFC 6890); metadata services of clouds lie in
 * link-local, unique-local and shared space, and one at an address that looks public.
 */

import { isIPv4, isIPv6 } from 'node:net'

/** First address and length of the prefix. */
const REFUSED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Azure's host, which serves settings and secrets to its guests.
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
]

const REFUSED_V6: readonly (readonly [string, number])[] = [
  // Protocol assignments: Teredo, benchmarking, ORCHID.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const GLOBAL_UNICAST = ['2000::', 3] as const
const MAPPED = ['::ffff:0:0', 96] as const
const NAT64 = ['64:ff9b::', 96] as const

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublicV4(toNumberV4(address))
  // A zone names an interface of ours.
  if (!isIPv6(address) || address.includes('%')) return false
  const number = toNumberV6(address)
  if (isWithinV6(number, MAPPED) || isWithinV6(number, NAT64)) return isPublicV4(Number(number & 0xffff_ffffn))
  return isWithinV6(number, GLOBAL_UNICAST) && !REFUSED_V6.some((prefix) => isWithinV6(number, prefix))
}

/** The IPv4 address within a mapped or NAT64 address, else the address itself in its canonical spelling. */
export function toReachedAddress(address: string): string {
  if (!isIPv6(address) || address.includes('%')) return address
  const number = toNumberV6(address)
  if (!isWithinV6(number, MAPPED) && !isWithinV6(number, NAT64))
    return new URL(`http://[${address}]`).hostname.slice(1, -1)
  return [24n, 16n, 8n, 0n].map((shift) => String((number >> shift) & 0xffn)).join('.')
}

function isPublicV4(number: number): boolean {
  return !REFUSED_V4.some(([first, length]) => number >>> (32 - length) === toNumberV4(first) >>> (32 - length))
}

function isWithinV6(number: bigint, [first, length]: readonly [string, number]): boolean {
  const rest = BigInt(128 - length)
  return number >> rest === toNumberV6(first) >> rest
}

function toNumberV4(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

/** Of an address that is known to be one. */
function toNumberV6(address: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  if (dotted !== null) {
    const number = toNumberV4(dotted[2] ?? '')
    return toNumberV6(`${dotted[1]}${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`)
  }
  const [before = '', after] = address.split('::', 2)
  const left = groupsOf(before)
  const right = after === undefined ? [] : groupsOf(after)
  const middle = new Array<bigint>(8 - left.length - right.length).fill(0n)
  return [...left, ...middle, ...right].reduce((sum, group) => (sum << 16n) | group, 0n)
}

function groupsOf(text: string): bigint[] {
  return text === '' ? [] : text.split(':').map((group) => BigInt(`0x${group}`))
}
