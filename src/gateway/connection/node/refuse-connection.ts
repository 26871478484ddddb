/**
 * Responds to requests that the HTTP parser rejects, without writing into a response that is being sent.
 *
 * A connection is refused once, and everything that arrives afterwards is ignored. Responses to earlier requests are sent first.
 * If a response is partly sent, nothing can be added to it, and the connection is destroyed.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { CountEvent } from '../../../foundation/runtime/event-reasons.ts'
import { REFUSAL_WITHIN_MS } from '../client.ts'
import { refusalOf, refusalText, type ParserError, type RefusalStatus } from '../parser-errors.ts'

type Response = ServerResponse<IncomingMessage>

export interface ConnectionRefusals {
  /** Handles `clientError` of the server. */
  refuse(error: ParserError, socket: Socket): void
  /** Handles `connect` of the server. */
  refuseConnect(request: IncomingMessage): void
  /** Whether the connection has been refused; later requests on it are not served. */
  isRefused(socket: Socket): boolean
  /** Marks a connection as refused after its final response has been sent by the caller. */
  markRefused(socket: Socket): void
}

export function createConnectionRefusals(count: CountEvent): ConnectionRefusals {
  const refused = new WeakSet<Socket>()

  /** Sends the refusal and closes the connection, after the responses to earlier requests. */
  function end(socket: Socket, status: RefusalStatus): void {
    if (!socket.writable) return void socket.destroy()
    const current = currentResponse(socket)
    if (current !== null && current.headersSent && !current.writableEnded) return void socket.destroy()
    if (current !== null && (current.req.complete || current.headersSent)) {
      return void current.once('close', () => end(socket, status))
    }
    socket.setTimeout(REFUSAL_WITHIN_MS, () => socket.destroy())
    socket.end(refusalText(status), () => socket.destroy())
  }

  return {
    refuse(error, socket) {
      if (refused.has(socket)) return
      refused.add(socket)
      const refusal = refusalOf(error)
      if (refusal === null) return void socket.destroy()
      // The record of the call shows the disconnect.
      if (refusal.reason !== null) count(refusal.reason)
      end(socket, refusal.status)
    },
    refuseConnect({ socket, complete: isComplete }) {
      refused.add(socket)
      count('malformed')
      if (!isComplete) return void socket.destroy()
      restoreListeners(socket)
      end(socket, 400)
    },
    isRefused: (socket) => refused.has(socket),
    markRefused: (socket) => void refused.add(socket),
  }
}

/** Restores the listeners that pending responses need; Node removes its own before `connect`. */
function restoreListeners(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.destroy())
  socket.on('timeout', () => socket.destroy())
  socket.on('drain', () => currentResponse(socket)?.emit('drain'))
  socket.resume()
}

/** Returns the response that Node is writing to a connection; Node's default `clientError` handler uses the same property. */
function currentResponse(socket: Socket): Response | null {
  return (socket as Socket & { readonly _httpMessage?: Response | null })._httpMessage ?? null
}
