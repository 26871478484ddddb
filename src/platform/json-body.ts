/**
 * Accepts JSON bodies only, without a content encoding. An empty JSON body counts as no body: many clients send `Content-Type` with every
 * POST.
 */

import type { FastifyInstance } from 'fastify'
import { Problem } from '../domain/problem.ts'

/** The validation and decoding of larger bodies take as long as their parsing, so other requests are served in between. */
const LARGE_BYTES_MIN = 1024 * 1024
/** Enough turns of the event loop for the requests that have arrived meanwhile. */
const TURNS = 8

export function installJsonBody(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    const text = body.toString()
    if (body.length < LARGE_BYTES_MIN) return parse(request, text, done)
    const value = parsePlain(body as Buffer, text)
    if (value !== undefined) return afterTurns(TURNS, () => done(null, value))
    return parse(request, text, done)
  })
  app.addHook('preParsing', async ({ headers }) => {
    const encoding = headers['content-encoding']
    if (encoding === undefined || encoding.toLowerCase() === 'identity') return
    throw new Problem('media_type_unsupported', 'Send the body without a content encoding.')
  })
}

/** Parses a body without names that need a check; undefined if there may be some, or an error. The check takes 20 ms for 10 MB. */
function parsePlain(body: Buffer, text: string): unknown {
  if (body.includes('__proto__') || body.includes('constructor') || body.includes('\\u')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function afterTurns(turns: number, task: () => void): void {
  setImmediate(() => (turns === 0 ? task() : afterTurns(turns - 1, task)))
}
