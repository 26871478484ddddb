/**
 * How much of what the kernel has accepted for a client it still holds, because the client has not acknowledged it.
 *
 * Linux lists it for all sockets in `/proc/self/net`. The list is read as a whole, so only ask about few readers, and seldom.
 */

import { readFile } from 'node:fs/promises'
import { isIPv4, type Socket } from 'node:net'
import { endianness } from 'node:os'

/** Resolves with the bytes by socket. Sockets that are not found are missing. */
export type ReadUnreadBytes = (sockets: readonly Socket[]) => Promise<ReadonlyMap<Socket, number>>

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
const MAPPED = '::ffff:'
/** `number: local remote state unread:…` */
const LINE = /^ *\d+: ([\dA-F]+:[\dA-F]{4} [\dA-F]+:[\dA-F]{4}) [\dA-F]{2} ([\dA-F]{8}):/gm

/** Resolves with an empty map on systems without these tables. */
export const readUnreadBytes: ReadUnreadBytes = async (sockets) => {
  const byName = new Map(sockets.map((socket) => [nameOf(socket), socket]))
  const found = new Map<Socket, number>()
  for (const table of TABLES) {
    const text = await readFile(table, 'latin1').catch(() => '')
    for (const [, name, bytes] of text.matchAll(LINE)) {
      const socket = byName.get(name!)
      if (socket !== undefined) found.set(socket, Number.parseInt(bytes!, 16))
    }
  }
  return found
}

/** Both ends of a connection, as the tables name them. */
function nameOf({ localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${endOf(localAddress, localPort)} ${endOf(remoteAddress, remotePort)}`
}

function endOf(address: string, port: number): string {
  const words = wordsOf(address).map((word) => word.toString('hex').toUpperCase())
  return `${words.join('')}:${port.toString(16).toUpperCase().padStart(4, '0')}`
}

/** The address in words of 32 bits, in the order of bytes of this machine. */
function wordsOf(address: string): readonly Buffer[] {
  const bytes = isIPv4(address) ? ipv4Bytes(address) : ipv6Bytes(address)
  const words = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.subarray(index * 4, index * 4 + 4))
  return endianness() === 'LE' ? words.map((word) => Buffer.from(word).reverse()) : words
}

function ipv4Bytes(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number))
}

function ipv6Bytes(address: string): Buffer {
  const mapped = address.toLowerCase().startsWith(MAPPED) ? address.slice(MAPPED.length) : ''
  if (isIPv4(mapped)) return Buffer.concat([Buffer.alloc(10), Buffer.from([0xff, 0xff]), ipv4Bytes(mapped)])
  const [zone] = address.split('%')
  const [before = '', after] = zone!.split('::')
  const head = groupsOf(before)
  const tail = groupsOf(after ?? '')
  const groups =
    after === undefined ? head : [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]))
}

function groupsOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}
