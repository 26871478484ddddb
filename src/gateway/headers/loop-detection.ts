/**
 * Detects calls that have passed through this gateway before. `Via` (RFC 9110, 7.6.3) and `CDN-Loop` (RFC 8586) carry the name of
 * the gateway to every backend and are checked on every call.
 *
 * The name is random per deployment, so two deployments in a row are not a loop.
 */

import { toHeaderLines } from '../connection/header-lines.ts'
import { inOnePiece } from '../../foundation/runtime/one-piece.ts'
import type { RequestHeaders } from './upstream-request.ts'

export interface LoopDetection {
  isLoop(headers: RequestHeaders): boolean
  /** Returns the lines that add the name of the gateway to those that a request has passed through. */
  toLines(headers: RequestHeaders): string
}

export function createLoopDetection(name: string): LoopDetection {
  const via = `1.1 ${name}`
  const first = inOnePiece(toHeaderLines(['Via', via, 'CDN-Loop', name]))

  return {
    isLoop: (headers) =>
      (headers.via !== '' && headers.via.includes(name)) || (headers.cdnLoop !== '' && headers.cdnLoop.includes(name)),
    toLines({ via: sentVia, cdnLoop }) {
      if (sentVia === '' && cdnLoop === '') return first
      const vias = sentVia === '' ? via : `${sentVia}, ${via}`
      return toHeaderLines(['Via', vias, 'CDN-Loop', cdnLoop === '' ? name : `${cdnLoop}, ${name}`])
    },
  }
}
