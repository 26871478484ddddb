/** The module a gateway thread runs: where its rooms meet. */

import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadSettings } from './gateway/messages/messages.ts'
import { startThread, type OauthServer } from './gateway/threads/gateway-thread.ts'
import { createOauthServer } from './gateway/oauth/oauth-server.ts'
import { systemClock } from './runtime/clock.ts'
import { asksForRootPage, sendRootPage } from './onboarding/root-page.ts'
import { createKeyedHash } from './runtime/vault.ts'

if (parentPort === null) throw new Error('this module is run by the service in a thread of its own')
const settings = workerData as ThreadSettings

await startThread({
  settings,
  port: parentPort as Parameters<typeof startThread>[0]['port'],
  clock: systemClock,
  createOauth: async (oauthPort) => withRootPage(await createOauthServer(oauthPort), settings.rootPage),
  keyedHash: createKeyedHash(settings.hashKey),
})

/** Serves the page at `/` beside the OAuth paths: no API is published there, so no call of one is slower for it. */
function withRootPage(oauth: OauthServer, page: string | undefined): OauthServer {
  if (page === undefined) return oauth
  return {
    handle(request, response, path) {
      if (path !== '/' || !asksForRootPage(request)) return oauth.handle(request, response, path)
      sendRootPage(response, page)
      return true
    },
    close: () => oauth.close(),
  }
}
