/**
 * The address and the protocol of the client behind proxies that the operator trusts (`X-Forwarded-For`, `X-Forwarded-Proto`).
 *
 * Each proxy adds the address of its peer at the right. The address of the client is the rightmost entry that no trusted proxy has: what
 * is to the left of it was sent by the client, and proves nothing. The header of a peer that is not trusted is ignored. An entry that is
 * no address ends the search: the client is then the proxy that reported it.
 */

import { BlockList, isIP, SocketAddress } from 'node:net'

export interface AddressedRequest {
  /** Name, value, … as received. */
  readonly rawHeaders: readonly string[]
  readonly socket: AddressedSocket
}

interface AddressedSocket {
  /** Whether the connection uses TLS. */
  readonly encrypted?: boolean
  readonly remoteAddress?: string | undefined
}

export type Protocol = 'http' | 'https'

export interface ClientAddress {
  /** Returns the address of the client; undefined if the connection has ended. */
  (request: AddressedRequest): string | undefined
  /** Returns what the proxy says that the client used (`X-Forwarded-Proto`); by default, the protocol of the connection. */
  protocolOf(request: AddressedRequest): Protocol
}

const HEADER = 'x-forwarded-for'
const PROTOCOL_HEADER = 'x-forwarded-proto'
/** Proxies between the client and this service. */
const HOPS_MAX = 32
/** `[`, an IPv6 address, `]:` and a port. */
const ENTRY_LENGTH_MAX = 53
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** A network in CIDR notation, or a single address. */
export interface Network {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

/** Returns null for a text that is no network, for all addresses together, and for IPv4 addresses in the form of IPv6. */
export function parseNetwork(text: string): Network | null {
  const [, address = '', bits] = /^([^/%]{1,45})(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || MAPPED.test(toCanonical(address))) return null
  const max = version === 4 ? 32 : 128
  const prefix = bits === undefined ? max : Number(bits)
  if (prefix < 1 || prefix > max) return null
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** Addresses that a trusted proxy has named for a connection as a whole. */
const proxied = new WeakMap<object, string>()

export function noteProxied(socket: object, address: string): void {
  proxied.set(socket, toCanonical(address))
}

/** Returns the address that a trusted proxy has named for the connection, if any. */
export function proxiedAddress(socket: object): string | undefined {
  // A socket of TLS has the socket beneath it as its parent.
  const { _parent: parent } = socket as { readonly _parent?: object | null }
  return proxied.get(socket) ?? (parent ? proxied.get(parent) : undefined)
}

/** Returns whether an address belongs to one of the networks. */
export function createIsTrusted(proxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList()
  for (const text of proxies) {
    const network = parseNetwork(text)
    if (network === null) throw new Error(`${text} is no network`)
    trusted.addSubnet(network.address, network.prefix, network.family)
  }
  return (address) => {
    const plain = toPlain(address)
    return isIP(plain) !== 0 && trusted.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4')
  }
}

/** Returns null if there are no trusted proxies: the address of the connection is then that of the client. */
export function createClientAddress(proxies: readonly string[]): ClientAddress | null {
  if (proxies.length === 0) return null
  const isTrusted = createIsTrusted(proxies)

  function peerOf(socket: AddressedSocket): string | undefined {
    const address = proxiedAddress(socket) ?? socket.remoteAddress
    return address === undefined ? undefined : toPlain(address)
  }

  function addressOf({ socket, rawHeaders }: AddressedRequest): string | undefined {
    let client = peerOf(socket)
    if (client === undefined || !isTrusted(client)) return client
    const entries = entriesFromRight(rawHeaders, HEADER)
    for (let hop = 0; hop < HOPS_MAX; hop++) {
      const { value: entry } = entries.next()
      const reported = entry === undefined ? null : toAddress(entry)
      if (reported === null) return client
      client = reported
      if (!isTrusted(client)) return client
    }
    return client
  }

  function protocolOf({ socket, rawHeaders }: AddressedRequest): Protocol {
    const peer = peerOf(socket)
    const { value: entry } = entriesFromRight(rawHeaders, PROTOCOL_HEADER).next()
    const reported = entry?.trim().toLowerCase()
    const isReported = reported === 'http' || reported === 'https'
    return isReported && peer !== undefined && isTrusted(peer) ? reported : protocolOfConnection(socket)
  }

  return Object.assign(addressOf, { protocolOf })
}

export function protocolOfConnection({ encrypted: isSecure }: AddressedSocket): Protocol {
  return isSecure === true ? 'https' : 'http'
}

/** Yields the entries of all headers of the name, the last one first. Never reads further than the caller asks. */
function* entriesFromRight(rawHeaders: readonly string[], header: string): Generator<string, undefined> {
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length !== header.length || name.toLowerCase() !== header) continue
    const list = rawHeaders[at + 1] ?? ''
    for (let end = list.length; end >= 0;) {
      const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1)
      yield list.slice(comma + 1, end)
      end = comma
    }
  }
  return undefined
}

/** Reads an address with or without a port. Returns null for anything else, such as `unknown`, a name, or an address with a zone. */
function toAddress(entry: string): string | null {
  if (entry.length > ENTRY_LENGTH_MAX * 2) return null
  const text = entry.replaceAll(/^[ \t]+|[ \t]+$/g, '')
  if (text.length > ENTRY_LENGTH_MAX || text.includes('%')) return null
  const [, bracketed, withPort] = /^(?:\[([^[\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? []
  const address = bracketed ?? withPort ?? text
  const version = isIP(address)
  if (version === 0 || (bracketed !== undefined && version !== 6)) return null
  return version === 4 ? address : toPlain(toCanonical(address))
}

/** Returns one text for each IPv6 address, so that it counts as one. */
function toCanonical(address: string): string {
  return isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : address
}

/** Returns an IPv4 address as such, also if the connection has it in the form of IPv6. */
function toPlain(address: string): string {
  return MAPPED.exec(address)?.[1] ?? address
}
