/** Several requests on one connection: the end of one does not disturb the others. */

import { describe, expect, it } from 'vitest'
import { openBackend, openRawBackend, openTestGateway, received, receivedUntil } from '../../fixtures/test-gateway.ts'

const get = (path = '/things-v1/open', headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`
const statusesIn = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!)

describe('more requests than a connection may have in flight', () => {
  const QUEUED_MAX = 1_024

  it('are refused behind the others, which are answered, and end the connection', async () => {
    const { promise: isReached, resolve: reached } = Promise.withResolvers<() => void>()
    const origin = await openBackend((incoming, response) => {
      if (incoming.url?.includes('?first') === true) reached(() => response.end('first'))
      else response.end('next')
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(get('/things-v1/open?first') + get().repeat(QUEUED_MAX + 1_000))
    const finish = await isReached
    await gateway.recorded(QUEUED_MAX)
    finish()
    const statuses = statusesIn(await answer)
    // On a slow machine some of them wait too long for a connection to the backend.
    expect(statuses).toHaveLength(1 + QUEUED_MAX + 1)
    expect([statuses[0], statuses.at(-1)]).toEqual(['200', '429'])
    expect(gateway.counts.get('pipelined_too_many')).toBe(1)
    expect(gateway.records).toHaveLength(1 + QUEUED_MAX)
    expect(gateway.inFlight()).toBe(0)
  })

  it('may follow each other without an end if they do not wait', async () => {
    const origin = await openBackend((incoming, response) => void response.end(`end of ${incoming.url}`))
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    for (let round = 1; round <= 5; round++) {
      const answer = receivedUntil(socket, new RegExp(`end of /open\\?${round}`))
      socket.write(get().repeat(200) + get(`/things-v1/open?${round}`))
      await answer
    }
    expect(gateway.counts.get('pipelined_too_many')).toBeUndefined()
  })
})

describe('an aborted response that is queued behind another one', () => {
  it('closes the connection after the earlier response, and is not sent', async () => {
    const { promise: isReached, resolve: reached } = Promise.withResolvers<() => void>()
    const origin = await openRawBackend((socket) =>
      socket.once('data', (head) => {
        if (String(head).includes('?first')) {
          return reached(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst'))
        }
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\npartial', () => socket.destroy())
      }),
    )
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(get('/things-v1/open?first') + get('/things-v1/open?second') + get('/things-v1/open?third'))
    const finish = await isReached
    expect(await gateway.recorded(2)).toMatchObject([{ outcome: 'upstream_broken' }, { outcome: 'upstream_broken' }])
    finish()
    const text = await answer
    expect(statusesIn(text)).toEqual(['200'])
    expect(text.endsWith('first')).toBe(true)
    expect(gateway.inFlight()).toBe(0)
  })
})

describe('a request with 100-continue that is queued behind another call', () => {
  const upload =
    'POST /things-v1/open?upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nExpect: 100-continue\r\n'
  const answering = async (answer: string) => {
    const { promise: isReached, resolve: reached } = Promise.withResolvers<() => void>()
    const origin = await openBackend((incoming, response) => {
      if (!incoming.url?.includes('?upload')) return reached(() => response.end('first'))
      incoming.resume()
      incoming.on('end', () => response.end(answer))
    })
    return { isReached, gateway: await openTestGateway({ backend: { origin } }) }
  }

  it('gets 100 Continue after the earlier response', async () => {
    const { isReached, gateway } = await answering('second')
    const socket = await gateway.open()
    const continued = receivedUntil(socket, /100 Continue\r\n\r\n/)
    const answer = receivedUntil(socket, /second/)
    socket.write(`${get()}${upload}Content-Length: 5\r\n\r\n`)
    const finish = await isReached
    finish()
    expect(statusesIn(await continued)).toEqual(['200', '100'])
    socket.write('hello')
    expect(statusesIn(await answer)).toEqual(['200', '100', '200'])
  })

  it.each([
    ['short', 'Content-Length: 5\r\n\r\nhello'],
    ['streamed', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
  ])('(%s) gets no 100 Continue if its body arrives before', async (_, body) => {
    const { isReached, gateway } = await answering('second')
    const socket = await gateway.open()
    const answer = receivedUntil(socket, /second$/)
    socket.write(`${get()}${upload}${body}`)
    const finish = await isReached
    await gateway.recorded(1)
    finish()
    expect(statusesIn(await answer)).toEqual(['200', '200'])
  })
})

describe('a refused upload that is queued behind another call', () => {
  it('does not suppress the earlier response while its rest is discarded', async () => {
    const { promise: isReached, resolve: reached } = Promise.withResolvers<() => void>()
    const origin = await openBackend((_, response) => reached(() => response.end('first')))
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const answer = receivedUntil(socket, /credential_missing/)
    socket.write(get() + 'POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbegun')
    const finish = await isReached
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'credential_missing' }])
    // The gateway stops discarding the rest of another refused upload.
    const other = await gateway.open()
    const closed = received(other)
    other.write('POST /things-v1/keyed HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbegun')
    expect(statusesIn(await closed)).toEqual(['401'])
    finish()
    expect(statusesIn(await answer)).toEqual(['200', '401'])
  })
})

describe('responses that are queued behind another one', () => {
  it('count for the memory bound of slow readers', async () => {
    const origin = await openBackend((incoming, response) => {
      if (!incoming.url?.includes('?first')) response.end(Buffer.alloc(60_000))
    })
    const readers = { windowMs: 600_000, pendingBytesMax: 200_000, scanEveryMs: 20 }
    const gateway = await openTestGateway({ backend: { origin }, readers })
    const answer = gateway.raw(get('/things-v1/open?first') + get().repeat(10))
    expect(await answer).toBe('')
    await gateway.recorded(11)
    expect(gateway.inFlight()).toBe(0)
    expect(gateway.counts.get('client_too_slow')).toBeGreaterThan(0)
  })

  it('do not make the client too slow while the first response is missing', async () => {
    const { promise: isReached, resolve: reached } = Promise.withResolvers<() => void>()
    const origin = await openBackend((incoming, response) => {
      if (incoming.url?.includes('?first')) reached(() => response.end('first'))
      else response.end(Buffer.alloc(incoming.url?.includes('?long') ? 50_000_000 : 1_000_000, 'x'))
    })
    const readers = { windowMs: 50, pendingBytesMax: 1e9, scanEveryMs: 20 }
    const gateway = await openTestGateway({ backend: { origin }, readers })
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(get('/things-v1/open?first') + get('/things-v1/open', 'Connection: close\r\n'))
    const finish = await isReached
    // Each of three later clients is too slow for a whole window.
    for (let slow = 1; slow <= 3; slow++) {
      const other = await gateway.open()
      other.pause()
      other.write(get('/things-v1/open?long'))
      const records = await gateway.recorded(slow)
      expect(records[slow - 1]).toMatchObject({ outcome: 'client_too_slow' })
    }
    finish()
    const text = await answer
    expect(statusesIn(text)).toEqual(['200', '200'])
    expect(text.length).toBeGreaterThan(1_000_000)
  })
})

describe('a pipeline that ends in CONNECT', () => {
  const body = 'x'.repeat(30_000)
  const post = (headers = '') =>
    `POST /things-v1/open HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n${headers}Content-Length: 30000\r\n\r\n${body}`
  const connect = 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'

  it('gets the earlier responses, then one 400', async () => {
    const { promise: isReached, resolve: reached } = Promise.withResolvers<() => void>()
    const origin = await openBackend((incoming, response) => {
      if (incoming.url?.includes('?first')) reached(() => response.end(Buffer.alloc(1_000_000, 'x')))
      else response.end('second')
    })
    const gateway = await openTestGateway({ backend: { origin } })
    const answer = gateway.raw(get('/things-v1/open?first') + get() + connect + get())
    const finish = await isReached
    finish()
    const text = await answer
    expect(statusesIn(text)).toEqual(['200', '200', '400'])
    expect(text).toContain('second')
    expect(gateway.counts.get('malformed')).toBe(1)
    expect(gateway.faults).toEqual([])
  })

  it('releases everything when its client disconnects', async () => {
    const origin = await openBackend((incoming, response) => {
      if (incoming.url?.includes('?first')) return
      incoming.resume()
      incoming.on('end', () => response.end('ok'))
    })
    const gateway = await openTestGateway({ backend: { origin }, bodyBytesHeldMax: 120_000 })
    for (let index = 0; index < 5; index++) {
      const socket = await gateway.open()
      socket.write(get('/things-v1/open?first') + post() + connect)
      await gateway.recorded(index * 2 + 1)
      socket.destroy()
      await gateway.recorded(index * 2 + 2)
    }
    expect(gateway.inFlight()).toBe(0)
    expect(gateway.revision.backend?.only?.slots.held).toBe(0)
    expect(statusesIn(await gateway.raw(post('Connection: close\r\n')))).toEqual(['200'])
  })
})
