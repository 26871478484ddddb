/**
 * Accepts JSON bodies only, without a content encoding. An empty JSON body counts as no body: many clients send `Content-Type` with every
 * POST.
 */

import type { FastifyInstance } from 'fastify'
import { Problem } from '../../foundation/domain/problem.ts'

export function installJsonBody(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    return parse(request, body as string, done)
  })
  app.addHook('preParsing', async ({ headers }) => {
    const encoding = headers['content-encoding']
    if (encoding === undefined || encoding.toLowerCase() === 'identity') return
    throw new Problem('media_type_unsupported', 'Send the body without a content encoding.')
  })
}
