/** Several requests on one connection: what becomes of one leaves the others in step. */

import { describe, expect, it } from 'vitest'
import { openRawBackend, openTestGateway, received } from '../test-gateway.ts'

const get = (path = '/things-v1/open', headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`
const statusesIn = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!)

describe('a response that is broken off behind another one', () => {
  it('ends the connection when its turn comes, and nothing of it is sent', async () => {
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
