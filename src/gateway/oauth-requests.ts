/** Requests to the OAuth paths: passes them to the OAuth server and applies the deadlines for slow clients. */

import type { CallDependencies } from './call/call-dependencies.ts'
import type { ClientRequest, ClientResponse } from './connection/client.ts'
import type { CorsRequest } from './cors/preflight.ts'
import type { CorsRules } from './cors/cors-rules.ts'
import type { OauthHandler } from './oauth/oauth-server.ts'
import { PlainReader } from './connection/reader-watch.ts'
import type { UploadWatch } from './connection/upload-watch.ts'

export interface OauthRequestOptions {
  readonly oauth: OauthHandler
  readonly context: Pick<CallDependencies, 'readers' | 'count' | 'onFault'>
  readonly uploads: UploadWatch
}

/** Whether a path belongs to the OAuth endpoints or the discovery of an API; no API can publish an operation there. */
export function isOauthPath(target: string, nameEnd: number, queryAt: number): boolean {
  return (
    nameEnd < queryAt &&
    (target.startsWith('/oauth2/v2/', nameEnd) ||
      target.startsWith('/v1/oauth2/v2/', nameEnd) ||
      target.startsWith('/.well-known/', nameEnd))
  )
}

/**
 * Passes a request to the OAuth server; returns false if the path is not one of its paths.
 *
 * The credential of an OAuth request is in its body, so `100 Continue` is sent unless the response has already started. A client
 * that did not get `100 Continue` may send its body or not; the connection therefore ends with the response in both cases.
 */
export function handleOauth(
  options: OauthRequestOptions,
  request: ClientRequest,
  response: ClientResponse,
  path: string,
  headers: CorsRequest,
  cors: CorsRules | null,
): boolean {
  const { oauth, context } = options
  const { expectsContinue } = headers
  try {
    const { shouldKeepAlive } = response
    if (expectsContinue) response.shouldKeepAlive = false
    if (!oauth(request, response, path, headers, cors)) {
      response.shouldKeepAlive = shouldKeepAlive
      return false
    }
    if (expectsContinue) response.askForBody()
    if (!request.complete) watchUpload(options, request, response)
    watchReader(context, request, response)
  } catch (cause) {
    context.onFault(cause)
    response.breakOff()
  }
  return true
}

/**
 * Allows one window of the upload watch for the body: forms are short.
 */
function watchUpload({ uploads }: OauthRequestOptions, request: ClientRequest, response: ClientResponse): void {
  const upload = uploads.create(() => response.disconnect())
  upload.resume()
  request.once('end', () => upload.end())
  response.once('close', () => upload.end())
}

/** Watches the reader from the end of the response until the socket has accepted all of it. */
export function watchReader(
  { readers, count }: OauthRequestOptions['context'],
  { socket }: ClientRequest,
  response: ClientResponse,
): void {
  const reader = new PlainReader(socket, response, () => count('client_too_slow'))
  response.once('close', () => readers.leave(reader))
  if (response.writableEnded) readers.enter(reader)
  else response.once('prefinish', () => readers.enter(reader))
}
