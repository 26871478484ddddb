import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { deliveredBytes } from '../../../../src/gateway/connection/reader-watch.ts'
import { readUnreadBytes } from '../../../../src/gateway/connection/unread-bytes.ts'

const BYTES = 3_000_000

/** A connection whose client reads nothing until it is resumed. */
async function openPair(listenOn: string, connectTo: string) {
  const server = createServer().listen(0, listenOn)
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, connectTo).pause()
  const [socket] = (await once(server, 'connection')) as [Socket]
  onTestFinished(() => {
    client.destroy()
    socket.destroy()
    server.close()
  })
  return { client, socket }
}

it.skipIf(!existsSync('/proc/self/net/tcp')).each([
  ['IPv4', '127.0.0.1', '127.0.0.1'],
  ['IPv4 at a server for both', '::', '127.0.0.1'],
  ['IPv6', '::1', '::1'],
])('tells how much the client has not acknowledged, over %s (needs /proc of Linux)', async (_, listenOn, connectTo) => {
  const { client, socket } = await openPair(listenOn, connectTo)
  const other = await openPair(listenOn, connectTo)
  expect(await readUnreadBytes([socket, other.socket])).toEqual(new Map([[socket, 0], [other.socket, 0]])) // prettier-ignore
  socket.write(Buffer.alloc(BYTES))
  const held = (await readUnreadBytes([socket])).get(socket)!
  expect(held).toBeGreaterThan(0)
  expect(held).toBeLessThanOrEqual(deliveredBytes(socket))

  // Whoever has received the last byte has acknowledged those before.
  const ended = once(client, 'end')
  socket.end()
  client.resume()
  await ended
  await expect.poll(async () => (await readUnreadBytes([socket])).get(socket) ?? 0).toBe(0)
})

it('knows nothing of a socket that is closed', async () => {
  const { socket } = await openPair('127.0.0.1', '127.0.0.1')
  socket.destroy()
  expect((await readUnreadBytes([socket])).size).toBe(0)
})
