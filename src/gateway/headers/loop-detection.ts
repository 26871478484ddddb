/**
 * Detects calls that have passed through this gateway before. `Via` (RFC 9110, 7.6.3) and `CDN-Loop` (RFC 8586) carry the name of
 * the gateway to every backend and are checked on every call.
 *
 * The name is random per deployment, so two deployments in a row are not a loop.
 */

import type { RequestHeaders } from './upstream-request.ts'

export interface LoopDetection {
  isLoop(headers: RequestHeaders): boolean
  /** Adds the name of the gateway to the headers for the backend. */
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
