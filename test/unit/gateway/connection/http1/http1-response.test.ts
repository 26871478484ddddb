/** The client receives the bytes of the backend unchanged, whether they are sent as a string with the head or not. */

import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { openBackend, openTestGateway } from '../../../../fixtures/test-gateway.ts'

const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

describe('the body of a response', () => {
  it.each([
    ['of one byte above 127', Buffer.from([0xff]), true],
    ['of every byte', EVERY_BYTE, true],
    ['of every byte, without a known length', EVERY_BYTE, false],
    ['of the largest size that is sent with the head', Buffer.concat(Array<Buffer>(16).fill(EVERY_BYTE)), true],
    ['one byte larger', Buffer.concat([...Array<Buffer>(16).fill(EVERY_BYTE), Buffer.from([0x80])]), true],
    ['of 1 MB', Buffer.concat(Array<Buffer>(4_096).fill(EVERY_BYTE)), true],
    ['of no bytes', Buffer.alloc(0), true],
  ])('(%s) arrives unchanged', async (_, body, isAnnounced) => {
    const origin = await openBackend((_, response) => {
      if (isAnnounced) response.setHeader('content-length', body.length)
      response.write(body)
      response.end()
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const { statusCode, headers, body: received } = await request(`http://127.0.0.1:${gateway.port}/things-v1/open`)
    expect(statusCode).toBe(200)
    if (isAnnounced) expect(headers['content-length']).toBe(String(body.length))
    expect(Buffer.from(await received.arrayBuffer()).equals(body)).toBe(true)
  })
})
