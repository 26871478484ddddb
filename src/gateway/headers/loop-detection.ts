/**
 * Recognises calls that have come through this gateway before: `Via` (RFC 9110, 7.6.3) and `CDN-Loop`
 * (RFC 8586) carry its name to every backend, and are looked at on every call.
 *
 * The name is random per deployment, not the product's: two deployments in a row are no loop.
 */

import type { RequestHeaders } from './upstream-request.ts'

export interface LoopDetection {
  isLoop(headers: RequestHeaders): boolean
  /** Adds the gateway to what the backend is sent. */
  pushTo(forward: string[], headers: RequestHeaders): void
}

export function createLoopDetection(name: string): LoopDetection {
  const via = `1.1 ${name}`

  return {
    isLoop: (headers) =>
      (headers.via !== '' && headers.via.includes(name)) || (headers.cdnLoop !== '' && headers.cdnLoop.includes(name)),
    pushTo(forward, headers) {
      forward.push('Via', headers.via === '' ? via : `${headers.via}, ${via}`)
      forward.push('CDN-Loop', headers.cdnLoop === '' ? name : `${headers.cdnLoop}, ${name}`)
    },
  }
}
