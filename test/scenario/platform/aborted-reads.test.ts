import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { createMemoryUsage } from '../../fixtures/memory-usage.ts'
import { openTestPlatform } from '../../fixtures/test-platform.ts'

it('A read that its client breaks off is no failure of the service, and no refusal', async () => {
  const began = Promise.withResolvers<void>()
  const usage = {
    ...createMemoryUsage([], []),
    summaries: (_query: unknown, signal?: AbortSignal) => {
      began.resolve()
      return new Promise<never>((_, reject) =>
        signal?.addEventListener('abort', () => reject(new Error('The query was cancelled.'))),
      )
    },
  }
  const platform = await openTestPlatform({ usage })
  const { app } = platform.server
  await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  const head = ['GET /v1/summaries HTTP/1.1', 'Host: a', `Authorization: Bearer ${platform.token('acme')}`, '', '']
  socket.write(head.join('\r\n'))
  await began.promise
  socket.destroy()
  await expect.poll(() => platform.calls).toMatchObject([{ operationId: 'listSummaries', status: 499, code: 'served' }])
})
