/**
 * Responses that wait behind another one of their connection, so that none outlives it.
 *
 * Node destroys them with the connection as long as it listens to it, which it no longer does after
 * `CONNECT`: their calls would never learn that the client has gone, and hold what they hold for ever.
 */

import type { Socket } from 'node:net'
import type { GatewayResponse } from './response.ts'

export interface QueuedResponses {
  add(socket: Socket, response: GatewayResponse): void
}

export function createQueuedResponses(): QueuedResponses {
  const queues = new WeakMap<Socket, Set<GatewayResponse>>()

  function queueOf(socket: Socket): Set<GatewayResponse> {
    let queue = queues.get(socket)
    if (queue === undefined) {
      const added = (queue = new Set())
      queues.set(socket, queue)
      socket.once('close', () => added.forEach((response) => response.destroy()))
    }
    return queue
  }

  return {
    add(socket, response) {
      const queue = queueOf(socket)
      queue.add(response)
      response.once('close', () => queue.delete(response))
    },
  }
}
