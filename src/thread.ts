/** Entry point of a gateway thread: connects the data plane, the OAuth server and the page for browsers. */

import { parentPort, workerData } from 'node:worker_threads'
import { toResponseFields } from './gateway/connection/response-fields.ts'
import type { ThreadSettings } from './gateway/messages/messages.ts'
import { startThread } from './gateway/threads/gateway-thread.ts'
import { createOauthHandler, type OauthHandler } from './gateway/oauth/oauth-server.ts'
import { systemClock } from './foundation/runtime/clock.ts'
import { asksForRootPage, sendRootPage } from './app/onboarding/root-page.ts'
import { createKeyedHash } from './foundation/runtime/vault.ts'

if (parentPort === null) throw new Error('thread.ts runs only as a worker thread of the service')
const settings = workerData as ThreadSettings

startThread({
  settings,
  port: parentPort as Parameters<typeof startThread>[0]['port'],
  clock: systemClock,
  createOauth: (oauthPort) => withRootPage(createOauthHandler(oauthPort), settings.rootPage),
  keyedHash: createKeyedHash(settings.hashKey),
})

/** Adds the page at `/` to the OAuth paths; the path belongs to no API, so calls of APIs do not pay for the check. */
function withRootPage(oauth: OauthHandler, page: string | undefined): OauthHandler {
  if (page === undefined) return oauth
  return (request, response, path, ...cors) => {
    if (path !== '/' || !asksForRootPage(request)) return oauth(request, response, path, ...cors)
    const writeHead = (status: number, headers: string[]): void => response.start(status, toResponseFields(headers))
    sendRootPage({ writeHead, end: (body) => response.end(body) }, page)
    return true
  }
}
