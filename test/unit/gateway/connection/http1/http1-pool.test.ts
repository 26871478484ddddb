import type { Socket } from 'node:net'
import { buildConnector } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openConnections } from '../../../../../src/gateway/connection/backend-connections.ts'
import { openRawBackend } from '../../../../fixtures/test-backend.ts'
import { openServer, start } from '../exchanges.ts'

describe('our own connections', () => {
  it('are closed if anything arrives while they are idle', async () => {
    const sockets: Socket[] = []
    const origin = await openRawBackend((socket) => {
      sockets.push(socket)
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    })
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    expect((await start(connections).answered).body).toBe('ok')
    const closed = new Promise((resolve) => sockets[0]!.once('close', resolve))
    sockets[0]!.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison')
    await closed
    expect((await start(connections).answered).body).toBe('ok')
    expect(sockets).toHaveLength(2)
  })

  it('leave a connection that opens to the next exchange if theirs is over', async () => {
    const { origin, sockets } = await openServer((_request, response) => response.end('served'))
    const waiting: (() => void)[] = []
    const plain = buildConnector({ allowH2: false })
    const connect: buildConnector.connector = (target, callback) => void waiting.push(() => plain(target, callback))
    const connections = openConnections({ origin, connections: 2, connect })
    onTestFinished(() => connections.close())
    for (let count = 0; count < 5; count++) start(connections).exchange.abort()
    const { answered } = start(connections)
    expect(waiting).toHaveLength(1)
    waiting[0]!()
    expect((await answered).body).toBe('served')
    expect(sockets).toHaveLength(1)
  })

  it('are not used again after the time that the backend has named', async () => {
    const { origin, sockets } = await openServer((_request, response) => {
      response.setHeader('Keep-Alive', 'timeout=1')
      response.end('served')
    })
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    for (let count = 0; count < 2; count++) expect((await start(connections).answered).body).toBe('served')
    expect(sockets).toHaveLength(2)
  })

  it('close when the connections are closed, those in use at the end of their exchange', async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<() => void>()
    const { origin, sockets } = await openServer((request, response) => {
      if (request.url === '/idle') return void response.end()
      onAsked(() => response.end('served'))
    })
    const connections = openConnections({ origin, connections: 2, connect: {} })
    const { answered } = start(connections, { path: '/used' })
    const finish = await asked
    await start(connections, { path: '/idle' }).answered
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    connections.close()
    await closed[1]
    expect(sockets[0]!.destroyed).toBe(false)
    finish()
    expect((await answered).body).toBe('served')
    await closed[0]
  })
})
