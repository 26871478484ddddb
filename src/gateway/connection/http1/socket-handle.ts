/** The handle of a socket, from which we read without a stream in between. Node does not document it. */

import type { Socket } from 'node:net'

export interface Handle {
  readonly isStreamBase?: boolean
  readStart(): number
  readStop(): number
  useUserBuffer?(buffer: Uint8Array): void
}

export function handleOf(socket: Socket): Handle | null {
  return (socket as unknown as { readonly _handle: Handle | null })._handle
}

/** Whether nothing was read from this socket through its stream. */
export function isReadable(socket: Socket): boolean {
  // A socket that was read before, for the header of a proxy, goes on as a stream.
  return handleOf(socket)?.isStreamBase === true && socket.readableLength === 0 && !socket.readableDidRead
}

/** Starts or stops the reads of a socket that is not read through its stream. */
export function setReading(socket: Socket, isReading: boolean): void {
  const handle = handleOf(socket)
  if (handle === null) return
  if (isReading) handle.readStart()
  else handle.readStop()
}
