/**
 * Destroys responses that are queued behind another one when their connection closes.
 *
 * Node does this only while it listens to the socket, and it stops listening after `CONNECT`. The calls of such responses would
 * otherwise never end, and would never release their limits and connections.
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
