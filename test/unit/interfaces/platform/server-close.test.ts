import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'

describe('closing the server', () => {
  it('waits for a call in flight, and closes its connection', async () => {
    const platform = await openTestPlatform()
    const { app } = platform.server
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    const { promise: written, resolve: write } = Promise.withResolvers<void>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    platform.beforeRecord = () => {
      reach()
      return written
    }
    const headers = { authorization: `Bearer ${platform.token('acme')}`, connection: 'keep-alive' }
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path: '/v1/consumers', headers }, resolve).on('error', reject).end()
    })
    await reached
    const closed = platform.server.close()
    write()

    const answer = await answered
    expect(answer.statusCode).toBe(200)
    answer.resume()
    await closed
    expect(platform.calls).toMatchObject([{ operationId: 'listConsumers', status: 200 }])
  })
})
