import { describe, expect, it } from 'vitest'
import type { ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'
import * as h2 from './frames.ts'
import { exchange, openSessions, type OpenedSessions } from './open-sessions.ts'

const NONE = toResponseFields([])

/** Opens sessions that pass on each response. */
function respond(step: (response: ClientResponse) => void): Promise<OpenedSessions> {
  return openSessions((_, response) => step(response))
}

const GET = { ':path': '/' }

describe('Http2Response', () => {
  it('sends a head without the headers of a connection, and with a date', async () => {
    const { client } = await respond((response) => {
      const own = ['X-A', '1', 'X-A', '2', 'Connection', 'x-b', 'Keep-Alive', 'timeout=5', 'Upgrade', 'h2c', 'Via', 'ü']
      response.start(200, toResponseFields(own))
      response.end('text')
    })
    const { headers, body } = await exchange(client(), GET)
    expect(headers).toEqual({
      ':status': 200,
      'x-a': '1, 2',
      via: 'ü',
      'content-length': '4',
      date: expect.any(String),
    })
    expect(body).toBe('text')
  })

  it('repeats a header of which there should be one, like HTTP/1.1', async () => {
    const { raw } = await respond((response) => {
      response.start(200, toResponseFields(['ETag', '"a"', 'ETag', '"b"']))
      response.end()
    })
    const client = raw().send(h2.headers(1))
    expect(h2.statusOf(await client.frame(h2.HEADERS))).toBe(200)
  })

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 205],
    ['GET', 304],
  ])('sends no body for %s with %i', async (method, status) => {
    const { client, faults } = await respond((response) => {
      response.start(status, NONE)
      response.flushHeaders()
      response.write(Buffer.from('dropped'))
      response.end('dropped')
    })
    expect(await exchange(client(), { ...GET, ':method': method })).toMatchObject({ status, body: '', rstCode: 0 })
    expect(faults).toEqual([])
  })

  it('sends 100 Continue before its head only', async () => {
    const { raw } = await respond((response) => {
      response.askForBody()
      response.start(200, NONE)
      response.askForBody()
      response.end('ok')
    })
    const client = raw().send(h2.headers(1))
    await client.frame(h2.DATA)
    const heads = client.frames.filter(({ type }) => type === h2.HEADERS)
    expect(heads.map((frame) => h2.statusOf(frame))).toEqual([100, 200])
  })

  it('sends chunks of any size unchanged, and asks for pauses', async () => {
    const chunks = [0, 1, 16_383, 16_384, 16_385, 65_536, 300_000, 3].map((size, index) =>
      Buffer.alloc(size, 97 + index),
    )
    let pauses = 0
    const { client } = await respond(async (response) => {
      response.start(200, NONE)
      for (const chunk of chunks) {
        if (response.write(chunk)) continue
        pauses++
        await new Promise<void>((resolve) => void response.once('drain', resolve))
      }
      response.end('end')
    })
    const { body } = await exchange(client(), GET)
    expect(body).toBe(`${Buffer.concat(chunks).toString()}end`)
    expect(pauses).toBeGreaterThan(1)
  })

  it.each([
    ['more', 'abcd'],
    ['less', 'ab'],
  ])('resets the stream if the body has %s bytes than the head says', async (_, text) => {
    const { client } = await respond((response) => {
      response.start(200, toResponseFields(['Content-Length', '3']))
      response.write(Buffer.from(text))
      response.end()
    })
    expect((await exchange(client(), GET)).rstCode).toBe(2)
  })

  it('never looks complete if it is broken off, whatever was sent before', async () => {
    for (const written of [0, 1, 16_384, 100_000]) {
      const { raw } = await respond((response) => {
        response.start(200, NONE)
        response.flushHeaders()
        if (written > 0) response.write(Buffer.alloc(written))
        setImmediate(() => response.breakOff())
      })
      const client = raw().send(h2.headers(1))
      expect((await client.frame(h2.RST_STREAM)).payload.readUInt32BE(0)).toBe(2)
      expect(client.frames.filter(({ stream, flags }) => stream === 1 && (flags & h2.END_STREAM) > 0)).toEqual([])
      client.send(h2.ping())
      await client.frame(h2.PING)
    }
  })

  it('is finished when its client has got all of it, and not before', async () => {
    const states: boolean[] = []
    const { raw } = await respond((response) => {
      response.on('close', () => states.push(response.writableFinished))
      response.start(200, NONE)
      response.end(Buffer.alloc(70_000))
    })
    const client = raw().send(h2.headers(1))
    // The window of the client is full.
    await client.frame(h2.DATA, () => client.frames.filter(({ type }) => type === h2.DATA).length === 4)
    client.send(h2.ping())
    await client.frame(h2.PING)
    expect(states).toEqual([])
    client.send(h2.windowUpdate(0, 70_000), h2.windowUpdate(1, 70_000))
    await expect.poll(() => states).toEqual([true])
  })

  it.each([
    ['resets the stream', (): Buffer => h2.reset(1)],
    ['resets the stream without an error', (): Buffer => h2.reset(1, 0)],
  ])('is not finished if the client %s', async (_, bytes) => {
    const gone: boolean[] = []
    const { raw } = await respond((response) => {
      response.call = { clientGone: () => gone.push(response.writableFinished) }
      response.start(200, NONE)
      response.end(Buffer.alloc(70_000))
    })
    const client = raw().send(h2.headers(1))
    await client.frame(h2.DATA)
    client.send(bytes())
    await expect.poll(() => gone).toEqual([false])
  })

  it('disconnects only the stream of a slow reader', async () => {
    const responses: ClientResponse[] = []
    const { client } = await respond((response) => void responses.push(response))
    const session = client()
    const [slow, other] = [exchange(session, GET), exchange(session, GET)]
    await expect.poll(() => responses.length).toBe(2)
    responses[0]!.disconnect()
    expect((await slow).rstCode).toBe(2)
    responses[1]!.start(200, NONE)
    responses[1]!.end('ok')
    expect(await other).toMatchObject({ status: 200, body: 'ok' })
  })

  it('ends only its stream if a listener fails', async () => {
    const { client, faults } = await respond((response) => {
      response.call = {
        clientGone() {
          throw new Error('a listener')
        },
      }
      response.start(200, NONE)
      response.end('ok')
    })
    const session = client()
    expect(await exchange(session, GET)).toMatchObject({ status: 200 })
    await expect.poll(() => faults.length).toBe(1)
    expect(await exchange(session, GET)).toMatchObject({ status: 200 })
  })

  it('resets the stream if the handler fails', async () => {
    const { client, faults, counts } = await respond(() => {
      throw new Error('a handler')
    })
    expect(await exchange(client(), GET)).toMatchObject({ status: 0, rstCode: 2 })
    expect(faults).toHaveLength(1)
    expect(counts).toEqual([])
  })

  it('refuses one request without its connection', async () => {
    let requests = 0
    const { client } = await respond((response) => {
      if (requests++ === 0) return response.refuse(505)
      response.start(200, NONE)
      response.end('ok')
    })
    const session = client()
    expect(await exchange(session, GET)).toMatchObject({ status: 505, body: '' })
    expect(await exchange(session, GET)).toMatchObject({ status: 200 })
  })

  it('refuses a status that HTTP/2 does not have, and can send another one', async () => {
    const { client } = await respond((response) => {
      expect(() => response.start(600, NONE)).toThrow(RangeError)
      response.start(502, NONE)
      response.end()
    })
    expect(await exchange(client(), GET)).toMatchObject({ status: 502 })
  })

  it('counts what its client has read, while the connection is open for others', async () => {
    const responses: ClientResponse[] = []
    const { raw } = await respond((response) => {
      responses.push(response)
      response.start(200, NONE)
      response.write(Buffer.alloc(200_000))
    })
    const client = raw().send(h2.windowUpdate(0, 1_000_000), h2.headers(1))
    await expect
      .poll(() => client.frames.reduce((sum, { type, payload }) => sum + (type === h2.DATA ? payload.length : 0), 0))
      .toBe(65_535)
    const [response] = responses
    response!.deliveredBytes!(1_000_000)
    await expect.poll(() => response!.deliveredBytes!(1_000_000)).toBe(65_535)
    expect(response!.writableLength).toBe(200_000 - 65_535)
    client.send(h2.windowUpdate(1, 200_000))
    await expect.poll(() => response!.deliveredBytes!(1_000_000)).toBe(200_000)
  })

  it('ends a request whose client goes away while its body is paused', async () => {
    const events: string[] = []
    const { raw } = await openSessions((request, response) => {
      request.on('data', () => {
        request.pause()
        events.push('data')
      })
      request.on('end', () => events.push('end'))
      request.on('close', () => events.push('request'))
      response.on('close', () => events.push('response'))
    })
    const client = raw().send(h2.headers(1, h2.pseudo('POST'), h2.END_HEADERS), h2.data(1, 'read'))
    await expect.poll(() => events).toEqual(['data'])
    client.send(h2.data(1, 'not read'), h2.reset(1, 0))
    await expect.poll(() => events).toEqual(['data', 'request', 'response'])
  })
})
