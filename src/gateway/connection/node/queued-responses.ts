/**
 * Bounds the responses that are queued behind another one of their connection, and destroys them when it closes.
 *
 * Node reads requests for as long as a client sends them, however many wait for their turn: 42 bytes of a request take 2 KB of memory.
 *
 * It destroys queued responses only while it listens to the socket, and it stops listening after `CONNECT`. The calls of such responses would
 * otherwise never end, and would never release their limits and connections.
 */

import type { Socket } from 'node:net'
import { QUEUED_MAX } from '../client.ts'
import type { GatewayResponse } from './node-response.ts'

export interface QueuedResponses {
  /** Returns false if more responses wait than a connection may have. */
  add(socket: Socket, response: GatewayResponse): boolean
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
      return queue.size <= QUEUED_MAX
    },
  }
}
