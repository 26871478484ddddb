/**
 * Makes a socket read into memory of ours.
 *
 * `net.connect` has the option `onread` for this, and accepted sockets have none. It is kept under symbols of the socket, which are
 * not part of Node's documented interface. If they are missing, nothing is read this way.
 */

import { Socket } from 'node:net'
import { handleOf } from './socket-handle.ts'

/** Decides where a socket reads. */
export interface SocketBuffers {
  /** Receives what was read. */
  readonly onRead: (bytes: number, from: Buffer) => boolean
  /** Returns the memory for the next read. Node keeps its address until then. */
  readonly next: () => Buffer
}

interface Symbols {
  readonly buffer: symbol
  readonly callback: symbol
  readonly generator: symbol
}

const SYMBOLS = findSymbols()

/**
 * Reads into `first`, whenever no parser consumes the socket. Called once per socket. Returns false if this version of Node cannot
 * do that.
 */
export function readInto(socket: Socket, first: Buffer, { onRead, next }: SocketBuffers): boolean {
  const handle = handleOf(socket)
  if (SYMBOLS === null || handle?.useUserBuffer === undefined) return false
  Object.assign(socket, { [SYMBOLS.buffer]: first, [SYMBOLS.callback]: onRead, [SYMBOLS.generator]: next })
  handle.useUserBuffer(first)
  return true
}

function findSymbols(): Symbols | null {
  const callback = (): boolean => true
  const generator = (): Buffer => Buffer.alloc(0)
  const socket = new Socket({ onread: { buffer: generator, callback } } as object)
  const kept = socket as unknown as Readonly<Record<symbol, unknown>>
  const symbols = Object.getOwnPropertySymbols(socket)
  const found = {
    buffer: symbols.find((symbol) => symbol.description === 'kBuffer'),
    callback: symbols.find((symbol) => kept[symbol] === callback),
    generator: symbols.find((symbol) => kept[symbol] === generator),
  }
  socket.destroy()
  return Object.values(found).includes(undefined) ? null : (found as Symbols)
}
