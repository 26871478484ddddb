/** Fails if a release of undici moves the internals that `correct-parser.ts` uses. */

import { Pool } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { correctParser, findParser } from '../../../../../src/gateway/connection/undici/correct-parser.ts'
import { openRawBackend } from '../../../../fixtures/test-gateway.ts'

async function openPool(text: string) {
  const origin = await openRawBackend((socket) => socket.on('data', () => socket.write(text)))
  const pool = new Pool(origin, { connections: 1 })
  onTestFinished(() => pool.destroy())
  return pool
}

describe('the parser of a connection to a backend', () => {
  it('is found, with the methods that are corrected', async () => {
    const pool = await openPool('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    const { promise, resolve } = Promise.withResolvers<object | undefined>()
    pool.on('connect', (_origin, targets) => resolve(targets.at(-1)))
    await (await pool.request({ path: '/', method: 'GET' })).body.dump()
    const parser = findParser(await promise)
    expect(parser).toMatchObject({ ptr: expect.any(Number), hasTransferEncoding: false, contentLength: -1 })
    for (const method of ['onHeadersComplete', 'onMessageComplete'] as const) {
      expect(parser?.[method]).toBeTypeOf('function')
    }
    expect(parser?.llhttp.llhttp_set_lenient_chunked_length).toBeTypeOf('function')
  })

  it.each([
    ['an unsolicited 100', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    [
      'a length in a trailer',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 7\r\n\r\n',
    ],
  ])('continues after %s, request after request', async (_, text) => {
    const pool = await openPool(text)
    correctParser(pool)
    for (let round = 0; round < 3; round++) {
      const { statusCode, body } = await pool.request({ path: '/', method: 'GET' })
      expect([statusCode, await body.text()]).toEqual([200, 'ok'])
    }
  })
})
