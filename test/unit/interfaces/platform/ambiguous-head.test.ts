/** Heads of requests as bytes, which no HTTP client would send. */

import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'
import { received } from '../../../fixtures/test-backend.ts'

async function open() {
  const platform = await openTestPlatform()
  const { app } = platform.server
  await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const authorization = `Authorization: Bearer ${platform.token('acme')}\r\n`
  const send = async (head: string, body = ''): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    const answer = received(socket)
    socket.write(head + body, 'latin1')
    return answer
  }
  return { platform, authorization, send }
}

const BODY = '{"name":"Shop","kind":"application"}'
const NEXT = 'GET /v1/consumers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`

describe('a request to the platform', () => {
  it.each([
    ['two hosts', 'Host: a\r\nHost: b\r\n'],
    ['an empty host', 'Host: \r\n'],
    ['a host with a path', 'Host: a/b\r\n'],
    ['two credentials', 'Host: a\r\nAuthorization: Bearer other\r\n'],
    ['two keys', 'Host: a\r\nX-Api-Key: a\r\nX-Api-Key: b\r\n'],
    ['two content types', 'Host: a\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\n'],
    ['a length with a leading zero', `Host: a\r\nContent-Length: 0${BODY.length}\r\n`],
    ['another transfer coding', 'Host: a\r\nTransfer-Encoding: gzip, chunked\r\n'],
  ])('with %s is refused, and nothing that follows on the connection is served', async (_, more) => {
    const { platform, authorization, send } = await open()
    const type = more.includes('Content-Type') ? '' : 'Content-Type: application/json\r\n'
    const framing = /Content-Length|Transfer/.test(more) ? '' : `Content-Length: ${BODY.length}\r\n`
    const body = more.includes('chunked') ? chunked : BODY
    const answer = await send(
      `POST /v1/consumers HTTP/1.1\r\n${authorization}${type}${framing}${more}\r\n`,
      body + NEXT,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*connection: close[^]*"code":"payload_invalid"/i)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    expect(platform.calls).toEqual([])
  })

  it.each([
    ['chunks', 'Host: a\r\nTransfer-Encoding: chunked\r\n', chunked],
    ['a length', `Host: [::1]:8080\r\nContent-Length: ${BODY.length}\r\n`, BODY],
  ])('with one host and %s is served', async (_, more, body) => {
    const { authorization, send } = await open()
    const head = `POST /v1/consumers HTTP/1.1\r\n${authorization}Content-Type: application/json\r\nConnection: close\r\n`
    expect(await send(`${head}${more}\r\n`, body)).toMatch(/^HTTP\/1\.1 201 /)
  })

  it('of HTTP/1.0 needs no host, and has no chunks', async () => {
    const { authorization, send } = await open()
    expect(await send(`GET /v1/consumers HTTP/1.0\r\n${authorization}\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
    const head = `POST /v1/consumers HTTP/1.0\r\n${authorization}Transfer-Encoding: chunked\r\n\r\n`
    expect(await send(head, chunked)).toMatch(/^HTTP\/1\.1 400 /)
  })
})
