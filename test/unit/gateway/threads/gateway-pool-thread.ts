/** A real gateway thread; its OAuth server returns the response of the main thread, and the path `/die` ends the thread. */

import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadSettings } from '../../../../src/gateway/messages/messages.ts'
import { startThread } from '../../../../src/gateway/threads/gateway-thread.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'

if (parentPort === null) throw new Error('this module is run in a thread of its own')

await startThread({
  settings: workerData as ThreadSettings,
  port: parentPort as Parameters<typeof startThread>[0]['port'],
  clock: systemClock,
  keyedHash: (text) => text,
  createOauth: async ({ execute }) => ({
    handle(_request, response, path) {
      if (path === '/die') process.exit(7)
      if (path !== '/oauth2/v2/authorize') return false
      const call = { endpoint: 'authorize', api: '', method: 'GET', form: [] } as const
      void execute({ ...call, authorization: undefined, cookie: undefined }).then(({ status, body }) => {
        response.statusCode = status
        response.end(String(body))
      })
      return true
    },
    close: async () => {},
  }),
})
