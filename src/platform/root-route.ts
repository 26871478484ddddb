/** `GET /`: a start page for browsers. Other clients get 404. */

import type { FastifyInstance } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface RootPage {
  readonly isAskedFor: (request: IncomingMessage) => boolean
  readonly send: (response: ServerResponse) => void
}

export function rootRoute(app: FastifyInstance, page: RootPage): void {
  app.get('/', { exposeHeadRoute: true }, async (request, reply) => {
    if (!page.isAskedFor(request.raw)) return reply.callNotFound()
    reply.hijack()
    page.send(reply.raw)
    return reply
  })
}
