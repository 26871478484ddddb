/**
 * Closes connections that have no request when the server closes, and each of the others after its response.
 *
 * Node keeps some connections of browsers open that have a request behind them or none at all, and would wait for their time limits.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

export function closeQuietConnections(app: FastifyInstance, isSecure: boolean): void {
  /** The number of requests without a complete response, by connection. */
  const requests = new Map<Socket, number>()
  let isClosing = false
  const change = (socket: Socket, by: number): void => {
    const number = requests.get(socket)
    // The connection is gone.
    if (number === undefined) return
    requests.set(socket, number + by)
    if (isClosing && number + by === 0) socket.destroySoon()
  }
  app.server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
    requests.set(socket, 0)
    socket.once('close', () => requests.delete(socket))
  })
  app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    change(socket, 1)
    response.once('close', () => change(socket, -1))
  })
  app.addHook('preClose', async () => {
    isClosing = true
    for (const [socket, number] of requests) if (number === 0) socket.destroySoon()
  })
}
