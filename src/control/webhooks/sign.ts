/**
 * Signatures of Standard Webhooks 1.0.0: `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`. A message has one
 * signature per valid secret, separated by spaces.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */

import { createHmac } from 'node:crypto'
import { secretBytes } from './webhook-secret.ts'

/** Returns the headers of a message. `timestamp` is in seconds; `body` is exactly the body that is sent. */
export function signedHeaders(id: string, timestamp: number, body: string, secrets: readonly string[]) {
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', secretBytes(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')
    return `v1,${mac}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}
