/**
 * Headers for a browser that opens an answer of the platform by itself: documents, problems and streams are no pages.
 *
 * Nothing in them runs or loads, no page may frame them, and their type is the one that is declared. Pages replace the policy by
 * their own.
 */

import type { FastifyInstance } from 'fastify'

export const BROWSER_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const

/** Installed before all that refuses requests. The hook waits for nothing, so that the next one sees a request at once. */
export function installBrowserHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_, reply, done) => {
    void reply.headers(BROWSER_HEADERS)
    done()
  })
}
