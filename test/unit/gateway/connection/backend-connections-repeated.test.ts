/** Backends that send the same head again and again. */

import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openConnections } from '../../../../src/gateway/connection/backend-connections.ts'
import type { BackendConnections } from '../../../../src/gateway/connection/exchange.ts'
import { findHttpParser } from '../../../../src/gateway/connection/http1/http-parser.ts'
import { openRawBackend } from '../../../fixtures/test-backend.ts'
import { start } from './exchanges.ts'

const PARSERS = [
  ['our own connections', findHttpParser()],
  ['the fallback', null],
] as const

describe.each(PARSERS)('the connections to a backend: %s', (_, parser) => {
  function open(origin: string): BackendConnections {
    const connections = openConnections({ origin, connections: 4, connect: { allowH2: false } }, parser)
    onTestFinished(() => connections.close())
    return connections
  }

  it.each([
    ['more bytes than its body', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nfX', 'f'],
    [
      'another response behind it',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nfHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nX',
      'f',
    ],
    ['fewer bytes than its body, and no more', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n', null],
  ])('do not use a connection again whose fourth response with the same head has %s', async (_name, last, expected) => {
    const sockets: Socket[] = []
    const origin = await openRawBackend((socket) => {
      const number = sockets.push(socket)
      let count = 0
      socket.on('data', () => {
        if (number > 1) return socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew')
        if (++count < 4) return socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${count}`)
        return expected === null ? socket.end(last) : socket.write(last)
      })
    })
    const connections = open(origin)
    for (const body of ['1', '2', '3']) {
      expect((await start(connections).answered).body).toBe(body)
      // As undici needs it.
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { answered } = start(connections)
    if (expected === null) await expect(answered).rejects.toThrow()
    else expect((await answered).body).toBe(expected)
    expect((await start(connections).answered).body).toBe('new')
    expect(sockets).toHaveLength(2)
  })

  it('send a request again on a new connection, although others are kept', async () => {
    let opened = 0
    const origin = await openRawBackend((socket) => {
      const number = ++opened
      socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${number}`))
    })
    const connections = open(origin)
    expect((await start(connections).answered).body).toBe('1')
    await new Promise((resolve) => setImmediate(resolve))
    expect((await start(connections, { isRepetition: true }).answered).body).toBe('2')
  })

  it('give a request for HEAD no body, whatever came before with the same head', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n'
    const origin = await openRawBackend((socket) =>
      socket.on('data', (bytes) => socket.write(bytes.toString().startsWith('HEAD') ? head : `${head}a`)),
    )
    const connections = open(origin)
    for (const method of ['GET', 'GET', 'GET', 'HEAD', 'GET', 'GET', 'HEAD']) {
      const { body } = await start(connections, { method }).answered
      expect([method, body]).toEqual([method, method === 'HEAD' ? '' : 'a'])
    }
  })
})
