import type { Socket } from 'node:net'
import { buildConnector } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openConnections } from '../../../../../src/gateway/connection/backend-connections.ts'
import { openRawBackend } from '../../../../fixtures/test-backend.ts'
import { openServer, start } from '../exchanges.ts'

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('our own connections', () => {
  it.each([
    ['a response', 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison'],
    ['a line break', '\r\n'],
  ])('are closed if %s arrives while they are idle', async (_, text) => {
    const sockets: Socket[] = []
    const origin = await openRawBackend((socket) => {
      sockets.push(socket)
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    })
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    expect((await start(connections).answered).body).toBe('ok')
    const closed = new Promise((resolve) => sockets[0]!.once('close', resolve))
    sockets[0]!.write(text)
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
    for (let count = 0; count < 5; count++) {
      const { exchange } = start(connections)
      await endOfTurn()
      exchange.abort()
    }
    const { answered } = start(connections)
    await endOfTurn()
    expect(waiting).toHaveLength(1)
    waiting[0]!()
    expect((await answered).body).toBe('served')
    expect(sockets).toHaveLength(1)
  })

  it('open another connection for an exchange that came later, if the first one fails', async () => {
    const { origin } = await openServer((_request, response) => response.end('served'))
    const plain = buildConnector({ allowH2: false })
    const failures: (() => void)[] = []
    const connect: buildConnector.connector = (target, callback) => {
      if (failures.length > 0) return plain(target, callback)
      failures.push(() => callback(new Error('too late'), null))
    }
    const connections = openConnections({ origin, connections: 2, connect })
    onTestFinished(() => connections.close())
    const { exchange } = start(connections)
    await endOfTurn()
    exchange.abort()
    const { answered } = start(connections)
    await endOfTurn()
    failures[0]!()
    expect((await answered).body).toBe('served')
  })

  it('carry responses of every framing one after the other', async () => {
    const sockets: Socket[] = []
    const answers: Readonly<Record<string, string>> = {
      '/length': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole',
      '/chunks': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nparts\r\n0\r\nA: b\r\n\r\n',
      '/none': 'HTTP/1.1 204 No Content\r\n\r\n',
      '/unchanged': 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n',
      '/early': 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      '/head': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n',
    }
    const origin = await openRawBackend((socket) => {
      sockets.push(socket)
      socket.on('data', (bytes: Buffer) => socket.write(answers[bytes.toString().split(' ')[1]!]!))
    })
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    const bodies: Readonly<Record<string, string>> = { '/length': 'whole', '/chunks': 'parts', '/early': 'ok' }
    const paths = Object.keys(answers)
    // Each kind follows each other one.
    for (const path of paths.flatMap((first) => paths.flatMap((second) => [first, second]))) {
      const { answered } = start(connections, { path, method: path === '/head' ? 'HEAD' : 'GET' })
      expect((await answered).body, path).toBe(bodies[path] ?? '')
    }
    expect(sockets).toHaveLength(1)
  })

  it('open nothing for a request that is over in the turn of its start', async () => {
    const targets: (string | undefined)[] = []
    const { origin, sockets } = await openServer((request, response) => {
      targets.push(request.url)
      response.end('served')
    })
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    start(connections, { path: '/over' }).exchange.abort()
    await start(connections, { path: '/asked' }).answered
    expect(targets).toEqual(['/asked'])
    expect(sockets).toHaveLength(1)
  })

  it('carry a request that was started in the turn in which they became idle', async () => {
    const { origin, sockets } = await openServer((_request, response) => response.end('served'))
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    const next = Promise.withResolvers<string>()
    const onHead = () => void start(connections).answered.then(({ body }) => next.resolve(body), next.reject)
    await start(connections, {}, { onHead }).answered
    expect(await next.promise).toBe('served')
    expect(sockets).toHaveLength(1)
  })

  it('carry no request that was started in the turn in which they were closed', async () => {
    const { origin, sockets } = await openServer((_request, response) => response.end('served'))
    const plain = buildConnector({ allowH2: false })
    const opened: Socket[] = []
    const connect: buildConnector.connector = (target, callback) =>
      plain(target, (...result) => {
        if (result[1] !== null) opened.push(result[1])
        callback(...result)
      })
    const connections = openConnections({ origin, connections: 2, connect })
    onTestFinished(() => connections.close())
    await start(connections).answered
    const { answered } = start(connections)
    opened[0]!.destroy()
    expect((await answered).body).toBe('served')
    expect(sockets).toHaveLength(2)
  })

  it('fail an exchange for which no connection can be opened, and carry the others of its turn', async () => {
    const { origin } = await openServer((_request, response) => response.end('served'))
    const plain = buildConnector({ allowH2: false })
    let opened = 0
    const connect: buildConnector.connector = (target, callback) => {
      if (opened++ === 0) throw new Error('boom')
      plain(target, callback)
    }
    const connections = openConnections({ origin, connections: 2, connect })
    onTestFinished(() => connections.close())
    const [first, second] = [start(connections), start(connections)]
    await expect(first.answered).rejects.toThrow('boom')
    expect((await second.answered).body).toBe('served')
  })

  it('are not used again while the backend has not read the whole request', async () => {
    const sockets: Socket[] = []
    const origin = await openRawBackend((socket) => {
      sockets.push(socket)
      socket.once('data', () => {
        if (sockets.length === 1) socket.pause()
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    expect((await start(connections, { method: 'PUT', body: Buffer.alloc(50_000_000) }).answered).body).toBe('ok')
    expect((await start(connections).answered).body).toBe('ok')
    expect(sockets).toHaveLength(2)
  })

  it('fail an exchange whose body cannot be started, after it was sent', async () => {
    const { origin } = await openServer((_request, response) => response.end('served'))
    const connections = openConnections({ origin, connections: 2, connect: {} })
    onTestFinished(() => connections.close())
    await start(connections).answered
    const body = {
      start() {
        throw new Error('boom')
      },
      drained() {},
    }
    for (let round = 0; round < 2; round++) {
      const { answered } = start(connections, { method: 'POST', body, bodyBytes: 3 })
      await expect(answered).rejects.toMatchObject({ code: 'TOLLGATE_REQUEST_INVALID' })
    }
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
