/** The module a gateway thread runs: where its rooms meet. */

import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadSettings } from './gateway/messages.ts'
import { startThread } from './gateway/thread.ts'
import { createOauthServer } from './identity/oauth-server.ts'
import { systemClock } from './runtime/clock.ts'
import { createKeyedHash } from './runtime/vault.ts'

if (parentPort === null) throw new Error('this module is run by the service in a thread of its own')
const settings = workerData as ThreadSettings

await startThread({
  settings,
  port: parentPort as Parameters<typeof startThread>[0]['port'],
  clock: systemClock,
  createOauth: createOauthServer,
  keyedHash: createKeyedHash(settings.hashKey),
})
