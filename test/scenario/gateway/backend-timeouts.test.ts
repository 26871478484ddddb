/** A backend that does not respond in time ends its own call, whatever the request is like. */

import { describe, expect, it } from 'vitest'
import { openRawBackend, openTestGateway, received } from '../../fixtures/test-gateway.ts'
import { once } from '../../fixtures/throwing.ts'

const BODY = 'x'.repeat(100_000)

describe('a request whose backend does not respond in time', () => {
  const head = (length: string) =>
    `POST /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n${length}\r\n\r\n`
  const chunk = `${BODY.length.toString(16)}\r\n${BODY}\r\n`

  it.each([
    ['streamed in chunks', `${head('Transfer-Encoding: chunked')}${chunk}0\r\n\r\n`, 504],
    ['long', `${head(`Content-Length: ${BODY.length}`)}${BODY}`, 504],
    ['short', `${head('Content-Length: 5')}hello`, 504],
    ['without a body', 'GET /things-v1/open HTTP/1.1\r\nHost: a\r\n\r\n', 504],
    ['streamed in chunks and never ended', `${head('Transfer-Encoding: chunked')}${chunk}`, 408],
    ['long and never ended', `${head('Content-Length: 200000')}${BODY}`, 408],
  ])('that is %s gets its error response and a record, and the thread reports no fault', async (_, text, status) => {
    const origin = await openRawBackend((socket) => void socket.resume())
    const gateway = await openTestGateway({
      backend: { origin, timeoutMs: 100 },
      uploads: { windowMs: 200, bytesPerSecondMin: 1_000_000, totalMs: 600_000 },
    })
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(text)
    const [record] = await gateway.recorded(1)
    expect(record?.status).toBe(status)
    socket.end()
    expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(gateway.faults).toEqual([])
    expect(gateway.inFlight()).toBe(0)
  })

  it.each([
    ['the deadline passes', 'GET /things-v1/open HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['a slow upload is cut off', `${head('Transfer-Encoding: chunked')}${chunk}`],
  ])('fails with 500, without affecting other calls, if a fault occurs when %s', async (_, text) => {
    const origin = await openRawBackend((socket) => void socket.resume())
    const gateway = await openTestGateway({
      backend: { origin, timeoutMs: 100 },
      uploads: { windowMs: 100, bytesPerSecondMin: 10_000_000, totalMs: 600_000 },
      changeRevision(revision) {
        const slots = revision.backend!.only!.slots
        slots.release = once(slots.release.bind(slots))
        return revision
      },
    })
    const answer = gateway.raw(text)
    const [record] = await gateway.recorded(1)
    expect(record).toMatchObject({ outcome: 'internal', status: 500 })
    expect(await answer).toContain('HTTP/1.1 500')
    expect(gateway.inFlight()).toBe(0)
  })

  it('gets 504, not 408, if it is streamed to a backend that stops reading', async () => {
    const origin = await openRawBackend((socket) => void socket.pause())
    const gateway = await openTestGateway({ backend: { origin, timeoutMs: 200 } })
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(head('Content-Length: 100000000'))
    socket.write(Buffer.alloc(50_000_000))
    const [record] = await gateway.recorded(1)
    expect(record).toMatchObject({ status: 504, outcome: 'upstream_timeout' })
    expect(await answer).toContain('HTTP/1.1 504')
  })
})
