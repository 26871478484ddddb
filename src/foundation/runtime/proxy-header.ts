/**
 * Reads the header of the PROXY protocol, version 2, which names the client of a connection before its first byte.
 *
 * Commands and families without an address (health checks of a balancer) leave the address of the connection in place.
 */

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const HEAD_BYTES = 16
/** Addresses and extensions; balancers send some hundred bytes at most. */
const REST_BYTES_MAX = 1_024

const VERSION = 2
const LOCAL = 0
const PROXY = 1
/** Family and transport: addresses of TCP. */
const TCP4 = 0x11
const TCP6 = 0x21
const ADDRESSES_BYTES = { [TCP4]: 12, [TCP6]: 36 } as const

export type ProxyHeader =
  /** More bytes are needed. */
  | 'partial'
  /** The bytes do not begin with a header. */
  | 'none'
  /** They do, and the header is invalid. */
  | 'invalid'
  | { readonly bytes: number; /** Null: that of the connection. */ readonly address: string | null }

export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const known = Math.min(bytes.length, SIGNATURE.length)
  if (bytes.compare(SIGNATURE, 0, known, 0, known) !== 0) return 'none'
  if (bytes.length < HEAD_BYTES) return 'partial'
  const command = bytes[12]!
  const family = bytes[13]!
  const length = bytes.readUInt16BE(14)
  if (command >> 4 !== VERSION || length > REST_BYTES_MAX) return 'invalid'
  if (bytes.length < HEAD_BYTES + length) return 'partial'
  const address = toAddress(command & 15, family, bytes.subarray(HEAD_BYTES, HEAD_BYTES + length))
  return address === 'invalid' ? 'invalid' : { bytes: HEAD_BYTES + length, address }
}

function toAddress(command: number, family: number, rest: Buffer): string | null {
  if (command === LOCAL) return null
  if (command !== PROXY) return 'invalid'
  if (family !== TCP4 && family !== TCP6) return (family & 15) === 2 ? 'invalid' : null
  if (rest.length < ADDRESSES_BYTES[family]) return 'invalid'
  return family === TCP4 ? rest.subarray(0, 4).join('.') : toIpv6(rest.subarray(0, 16))
}

function toIpv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16))
  return groups.join(':')
}
