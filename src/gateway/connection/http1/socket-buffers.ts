/**
 * Makes a socket read into memory of ours.
 *
 * `net.connect` has the option `onread` for this, and accepted sockets have none. It is kept under symbols of the socket, which are
 * not part of Node's documented interface. If they are missing, nothing is read this way.
 */

import { Socket } from 'node:net'
import { handleOf } from './socket-handle.ts'

interface Symbols {
  readonly buffer: symbol
  readonly callback: symbol
  readonly generator: symbol
}

const SYMBOLS = findSymbols()

/**
 * Reads into `buffer`, again and again; `onRead` receives what was read, and returns false to stop reading. Called once per socket.
 * Returns false if this version of Node cannot do that.
 */
export function readInto(socket: Socket, buffer: Buffer, onRead: (bytes: number, from: Buffer) => boolean): boolean {
  const handle = handleOf(socket)
  if (SYMBOLS === null || handle?.useUserBuffer === undefined) return false
  Object.assign(socket, { [SYMBOLS.buffer]: buffer, [SYMBOLS.callback]: onRead, [SYMBOLS.generator]: null })
  handle.useUserBuffer(buffer)
  return true
}

/** Asks for the memory of the next read after each one from now on. Only for a socket that reads into memory of ours. */
export function chooseBuffers(socket: Socket, next: () => Buffer): void {
  Object.assign(socket, { [SYMBOLS!.generator]: next })
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
