/**
 * ETags (RFC 9110, section 8.8.3): a hash of the answer's bytes, which saves clients from downloading the same bytes again.
 */

import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Operation } from './operation.ts'

export function installEtags(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    const operation = request.routeOptions.config.operation
    if (operation === undefined || operation.scope === null || operation.endless === true) return payload
    // The answers of changes have the ETag of their resource already.
    if (operation.method !== 'GET') return payload
    if (reply.statusCode >= 300 || !(typeof payload === 'string' || Buffer.isBuffer(payload))) return payload
    const tag = tagOf(operation, payload)
    void reply.header('ETag', tag)
    const known = request.headers['if-none-match']
    if (known === undefined || operation.untagged !== undefined || !matchesEtag(known, tag)) return payload
    void reply.code(304).removeHeader('content-type').removeHeader('content-length')
    return null
  })
}

/** Returns the ETag of an answer of a GET. */
export function tagOf({ untagged }: Pick<Operation, 'untagged'>, payload: string | Buffer): string {
  if (untagged === undefined) return etagOf(payload)
  // A text escapes its quotes, and keys of labels are in lower case, so that only the member matches.
  return etagOf(String(payload).replaceAll(new RegExp(`"${untagged}":(?:null|"[^"]*"),?`, 'g'), ''))
}

export function etagOf(payload: string | Buffer): string {
  return `"${createHash('sha256').update(payload).digest('base64url')}"`
}

/** Returns whether a condition lists `tag`. Compares weakly, which is safe because equal tags mean equal bytes but for untagged members. */
export function matchesEtag(condition: string, tag: string): boolean {
  if (condition.trim() === '*') return true
  return condition.split(',').some((each) => each.trim().replace(/^W\//, '') === tag)
}
