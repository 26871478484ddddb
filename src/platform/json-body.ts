/**
 * Accepts JSON bodies only, without a content encoding. An empty JSON body counts as no body: many clients send `Content-Type` with every
 * POST.
 */

import type { FastifyInstance } from 'fastify'
import { Problem } from '../domain/problem.ts'

/** The validation and decoding of larger bodies take as long as their parsing, so other requests are served in between. */
const LARGE_CHARACTERS_MIN = 1024 * 1024

export function installJsonBody(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    if (body.length < LARGE_CHARACTERS_MIN) return parse(request, body as string, done)
    return parse(request, body as string, (cause, value) => inNextTurn(() => done(cause, value)))
  })
  app.addHook('preParsing', async ({ headers }) => {
    const encoding = headers['content-encoding']
    if (encoding === undefined || encoding.toLowerCase() === 'identity') return
    throw new Problem('media_type_unsupported', 'Send the body without a content encoding.')
  })
}

/** The first callback runs in the current turn of the event loop, before other requests. */
function inNextTurn(task: () => void): void {
  setImmediate(() => setImmediate(task))
}
