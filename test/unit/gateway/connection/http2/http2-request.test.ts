import { describe, expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'
import * as h2 from './frames.ts'
import { exchange, openSessions } from './open-sessions.ts'

function answer(response: ClientResponse, text = 'ok'): void {
  response.start(200, toResponseFields([]))
  response.end(text)
}

function collect(request: ClientRequest, onEnd: (text: string) => void): void {
  let text = ''
  request.on('data', (chunk) => (text += chunk.toString()))
  request.on('end', () => onEnd(text))
}

const POST = { ':method': 'POST', ':path': '/a?b=c' }

describe('Http2Request', () => {
  it('has the properties of the same request over HTTP/1.1', async () => {
    let seen: ClientRequest | null = null
    const { client, port } = await openSessions((request, response) => {
      seen = request
      answer(response)
    })
    await exchange(client(), { ...POST, cookie: ['a=1', 'b=2'], 'x-a': ['1', '2'], 'x-umlaut': 'ü' })
    const { method, url, rawHeaders, headers, complete, httpVersionMajor, isHttp2 } = seen!
    expect({ method, url, complete, httpVersionMajor, isHttp2 }).toEqual({
      method: 'POST',
      url: '/a?b=c',
      complete: true,
      httpVersionMajor: 2,
      isHttp2: true,
    })
    const host = `127.0.0.1:${port}`
    const pairs = ['x-a', '1', 'x-a', '2', 'x-umlaut', 'ü', 'cookie', 'a=1; b=2', 'host', host]
    expect(rawHeaders).toEqual(pairs)
    expect({ ...headers }).toEqual({ 'x-a': '1, 2', 'x-umlaut': 'ü', cookie: 'a=1; b=2', host })
  })

  it('has every byte that a value may have, as another implementation encodes it', async () => {
    const values: (string | undefined)[] = []
    const { client } = await openSessions((request, response) => {
      values.push(request.headers['x-all'] as string)
      answer(response)
    })
    const all = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter((text) =>
      /[\t\x20-\x7e\x80-\xff]/.test(text),
    )
    const session = client()
    const sent = [`.${all.join('')}.`, ...all.map((text) => `.${text.repeat(40)}.`)]
    for (const value of sent) await exchange(session, { ...POST, 'x-all': value })
    expect(values).toEqual(sent)
  })

  it('passes on its body, with a length or without', async () => {
    const lengths: (readonly unknown[])[] = []
    const { client } = await openSessions((request, response) => {
      lengths.push([request.headers['content-length'], request.headers['transfer-encoding']])
      collect(request, (text) => answer(response, text))
    })
    const session = client()
    expect((await exchange(session, { ...POST, 'content-length': '3' }, 'abc')).body).toBe('abc')
    expect((await exchange(session, POST, 'defg')).body).toBe('defg')
    expect((await exchange(session, POST, Buffer.alloc(300_000, 'x'))).body).toBe('x'.repeat(300_000))
    expect(lengths).toEqual([
      ['3', undefined],
      [undefined, 'chunked'],
      [undefined, 'chunked'],
    ])
  })

  it('lets a client send no more than its window while the body is not read', async () => {
    const requests: ClientRequest[] = []
    const { client } = await openSessions((request, response) => {
      requests.push(request)
      request.on('data', () => request.pause())
      request.once('end', () => answer(response))
    })
    const stream = client().request(POST)
    stream.end(Buffer.alloc(1_000_000))
    await expect.poll(() => requests[0]?.readableFlowing).toBe(false)
    const { socket } = requests[0]!
    // Read until nothing more comes: the rest waits in the client.
    let last = -1
    await expect
      .poll(() => {
        const isSame = socket.bytesRead === last
        last = socket.bytesRead
        return isSame
      })
      .toBe(true)
    expect(last).toBeLessThan(150_000)
    requests[0]!.on('data', () => requests[0]!.resume())
    requests[0]!.resume()
    await expect.poll(() => requests[0]!.complete).toBe(true)
  })

  it('is not complete if its client resets the stream without an error', async () => {
    const events: string[] = []
    const { raw } = await openSessions((request) => {
      request.on('data', (chunk) => events.push(chunk.toString()))
      request.on('end', () => events.push('end'))
      request.on('close', () => events.push(`close ${String(request.complete)}`))
    })
    const client = raw().send(h2.headers(1, h2.pseudo('POST'), h2.END_HEADERS), h2.data(1, 'part'))
    await expect.poll(() => events).toEqual(['part'])
    client.send(h2.reset(1, 0))
    await expect.poll(() => events).toEqual(['part', 'close false'])
  })

  it('gets an answer before its body is complete, and its client need not send the rest', async () => {
    const { raw, counts } = await openSessions((_, response) => answer(response))
    const client = raw().send(h2.headers(1, h2.pseudo('POST'), h2.END_HEADERS))
    await client.frame(h2.DATA, ({ flags }) => (flags & h2.END_STREAM) > 0)
    expect((await client.frame(h2.RST_STREAM)).payload.readUInt32BE(0)).toBe(0)
    // What is under way then is ignored.
    client.send(h2.data(1, 'late'), h2.headers(3))
    await client.frame(h2.HEADERS, ({ stream }) => stream === 3)
    expect(counts).toEqual([])
  })

  it('ends with the response of HEAD, although its body is missing', async () => {
    const { raw } = await openSessions((_, response) => answer(response))
    const client = raw().send(h2.headers(1, h2.pseudo('HEAD'), h2.END_HEADERS))
    const { flags } = await client.frame(h2.HEADERS)
    expect(flags & h2.END_STREAM).toBe(h2.END_STREAM)
    expect((await client.frame(h2.RST_STREAM)).payload.readUInt32BE(0)).toBe(0)
  })

  it('may be answered after its client has reset it, without a fault', async () => {
    const responses: ClientResponse[] = []
    const { raw, faults } = await openSessions((request, response) => {
      responses.push(response)
      request.on('close', () => {
        response.askForBody()
        answer(response)
      })
    })
    const client = raw().send(h2.headers(1, h2.pseudo('POST'), h2.END_HEADERS))
    await expect.poll(() => responses.length).toBe(1)
    client.send(h2.reset(1))
    await expect.poll(() => responses[0]!.destroyed).toBe(true)
    responses[0]!.askForBody()
    responses[0]!.end()
    expect(faults).toEqual([])
  })

  it('ends only its stream if a listener fails', async () => {
    const { client, faults } = await openSessions((request, response) => {
      if (request.method === 'GET') return answer(response)
      request.on('data', () => {
        throw new Error('a listener')
      })
    })
    const session = client()
    expect(await exchange(session, POST, 'abc')).toMatchObject({ status: 0, rstCode: 2 })
    expect(faults).toHaveLength(1)
    expect(await exchange(session, { ':path': '/' })).toMatchObject({ status: 200 })
  })
})
