/**
 * Closes connections that have never sent a byte when the server closes.
 *
 * Browsers open connections in advance. Node does not count one without a request as idle, and would wait for its time limit.
 */

import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

export function closeUnusedConnections(app: FastifyInstance): void {
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', async () => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  })
}
