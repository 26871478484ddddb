/**
 * Preflight requests: a browser asks whether a page of another origin may send a request (Fetch Standard, 4.8).
 *
 * They have no credential. They are answered before anything is looked up, are neither recorded nor limited, and cost as little as a
 * refusal: no body is read, and the answer repeats nothing of the request.
 */

import type { ClientRequest, ClientResponse } from '../connection/client.ts'
import { discardRest, mayReuseAfter } from '../connection/discard-body.ts'

/** The headers of a request that concern CORS. */
export interface CorsRequest {
  /** `Origin`; undefined if there is none, `''` if there are several. */
  readonly origin: string | undefined
  /** Whether the request has `Access-Control-Request-Method`. */
  readonly asksForMethod: boolean
  /** Whether the client waits for `100 Continue`. */
  readonly expectsContinue: boolean
}

/** OPTIONS without both headers is an ordinary call. */
export function isPreflight(
  { method }: Pick<ClientRequest, 'method'>,
  { origin, asksForMethod }: CorsRequest,
): boolean {
  return method === 'OPTIONS' && asksForMethod && origin !== undefined
}

const NO_CONTENT = 204

export function answerPreflight(
  request: ClientRequest,
  response: ClientResponse,
  lines: string,
  { expectsContinue }: CorsRequest,
): void {
  // Without `100 Continue` the client may still send its body, so the next bytes could be a body or a request.
  response.start(NO_CONTENT, { lines, length: -1, hasDate: false, isLast: expectsContinue || !mayReuseAfter(request) })
  discardRest(request, response, request.socket)
  response.end()
}
