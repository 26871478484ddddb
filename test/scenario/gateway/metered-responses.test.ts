/** Calls that pay the units that the backend states in a header or a trailer of its response. */

import { describe, expect, it } from 'vitest'
import type { RequestListener } from 'node:http'
import { openMcpClient } from '../../fixtures/mcp-client.ts'
import { openMeteredGateway } from '../../fixtures/metered-gateway.ts'
import { openBackend, openRawBackend, received, receivedUntil } from '../../fixtures/test-gateway.ts'

const responses = { 200: { description: 'ok' } }
const UNITS = { per: 'response', reserve: 5, max: 1_000 }
const PATHS = {
  '/ask': { get: { operationId: 'ask', 'x-tollgate-units': UNITS, responses } },
  '/plain': { get: { operationId: 'plain', responses } },
}
const DECLARATION = { quotas: { period: 'Annual', resourceUnits: 5_000 }, resourceUnits: { default: 3 } }
const NAME = 'X-Usage-Units'

async function openAt(origin: string, root: object = {}) {
  const gateway = await openMeteredGateway({ backend: { origin }, paths: PATHS, root }, DECLARATION)
  const head = (path: string, more: string) =>
    `GET /things-v1${path} HTTP/1.1\r\nHost: a\r\nx-api-key: key-a\r\n${more}\r\n`
  return {
    ...gateway,
    calls: gateway.calls,
    async ask(path = '/ask', more = ''): Promise<string> {
      const socket = await gateway.open()
      socket.write(head(path, `Connection: close\r\n${more}`))
      return received(socket)
    },
    async begin(path = '/ask') {
      const socket = await gateway.open()
      socket.write(head(path, ''))
      return socket
    },
  }
}

const open = async (listener: RequestListener, root: object = {}) => openAt(await openBackend(listener), root)

/** A backend that sends these bytes for each request. */
const openBytes = async (text: string) =>
  openAt(await openRawBackend((socket) => socket.on('data', () => socket.write(text, 'latin1'))))

const chunked = (trailer: string, head = '') =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: ${NAME}\r\n${head}\r\n2\r\nok\r\n0\r\n${trailer}\r\n`

describe('Units in a header', () => {
  it('are charged, and do not reach the client', async () => {
    const gateway = await open((_, response) => response.writeHead(200, { [NAME]: '42', 'X-Other': '1' }).end('ok'))
    const text = await gateway.ask()
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nok$/)
    expect(text).toContain('X-Other: 1\r\n')
    expect(text).toContain('X-RU-Cost: 5\r\n')
    expect(text.toLowerCase()).not.toContain('usage')
    await gateway.recorded(1)
    expect(gateway.calls).toEqual([{ outcome: 'served', status: 200, subscription: 'a', units: 42 }])
    expect([gateway.used('a'), gateway.usedAfterRestart('a'), gateway.counts.size]).toEqual([42, 42, 0])
  })

  it('of one operation change nothing for another on the same connection', async () => {
    const gateway = await open((_, response) => response.writeHead(200, { [NAME]: '42' }).end('ok'))
    for (const path of ['/ask', '/plain', '/ask', '/plain']) {
      expect((await gateway.ask(path)).includes(`${NAME}: 42`)).toBe(path === '/plain')
    }
    await gateway.recorded(4)
    expect(gateway.calls.map(({ units }) => units)).toEqual([42, 3, 42, 3])
  })

  it.each([
    ['missing', '', 'missing'],
    ['negative', `${NAME}: -1\r\n`, 'invalid'],
    ['too large', `${NAME}: 1001\r\n`, 'invalid'],
    ['with a leading zero', `${NAME}: 010\r\n`, 'invalid'],
    ['a fraction', `${NAME}: 1.5\r\n`, 'invalid'],
    ['repeated', `${NAME}: 7\r\n${NAME}: 7\r\n`, 'repeated'],
    ['repeated in another case', `${NAME}: 7\r\nx-USAGE-units: 9\r\n`, 'repeated'],
  ])('that are %s cost the reserve, and are reported', async (_, lines, fault) => {
    const gateway = await openBytes(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${lines}\r\nok`)
    expect((await gateway.ask()).toLowerCase()).not.toContain('usage')
    await gateway.recorded(1)
    expect(gateway.calls.map(({ units }) => units)).toEqual([5])
    expect([gateway.used('a'), gateway.counts.get(`units_unknown ask ${fault}`)]).toEqual([5, 1])
  })

  it('cannot be stated by the client, even if the backend repeats its headers', async () => {
    const gateway = await open((request, response) => {
      for (const [name, value] of Object.entries(request.headers)) {
        if (name.replaceAll('_', '-').includes('usage')) response.setHeader(NAME, String(value))
      }
      response.end('ok')
    })
    await gateway.ask('/ask', `${NAME}: 0\r\n`)
    await gateway.ask('/ask', 'X_Usage_Units: 0\r\n')
    await gateway.recorded(2)
    expect(gateway.calls.map(({ units }) => units)).toEqual([5, 5])
  })

  it('of a 5xx cost nothing, of a 4xx what they state, and a 4xx without them the reserve', async () => {
    const gateway = await open((request, response) => {
      const [status = '', units] = (request.url ?? '').slice('/ask?'.length).split(',')
      response.writeHead(Number(status), units === undefined ? {} : { [NAME]: units }).end()
    })
    for (const query of ['503,9', '429,9', '404']) await gateway.ask(`/ask?${query}`)
    await gateway.recorded(3)
    expect(gateway.calls.map(({ status, units }) => [status, units])).toEqual([
      [503, 0],
      [429, 9],
      [404, 5],
    ])
    expect([gateway.used('a'), gateway.usedAfterRestart('a'), gateway.counts.size]).toEqual([14, 14, 0])
  })
})

describe('Units in a trailer', () => {
  it('are charged, and do not reach the client', async () => {
    const gateway = await open((_, response) => {
      response.writeHead(200, { Trailer: NAME })
      response.write('o')
      response.addTrailers({ [NAME]: '77', 'X-Other': '1' })
      response.end('k')
    })
    expect((await gateway.ask()).toLowerCase()).not.toContain('usage')
    await gateway.recorded(1)
    expect(gateway.calls.map(({ units }) => units)).toEqual([77])
    expect([gateway.used('a'), gateway.usedAfterRestart('a')]).toEqual([77, 77])
  })

  it.each([
    ['among many fields', `${'X-A: b\r\n'.repeat(50)}${NAME}: 8\r\n`, '', 8, null],
    ['missing', '', '', 5, 'missing'],
    ['hostile', `${NAME}: 1e2\r\n`, '', 5, 'invalid'],
    ['repeated', `${NAME}: 8\r\n${NAME}: 8\r\n`, '', 5, 'repeated'],
    ['different from the header', `${NAME}: 8\r\n`, `${NAME}: 9\r\n`, 5, 'repeated'],
  ])('%s', async (_, trailer, head, units, fault) => {
    const gateway = await openBytes(chunked(trailer, head))
    for (let round = 0; round < 2; round++) expect(await gateway.ask()).toMatch(/ok/)
    await gateway.recorded(2)
    expect(gateway.calls.map((call) => call.units)).toEqual([units, units])
    expect([...gateway.counts]).toEqual(fault === null ? [] : [[`units_unknown ask ${fault}`, 2]])
  })

  it('cost the reserve if the client leaves before them, or the header that has arrived', async () => {
    const gateway = await open((request, response) => {
      response.writeHead(200, { Trailer: NAME, ...(request.url === '/ask?header' && { [NAME]: '7' }) })
      response.write('begun')
    })
    for (const path of ['/ask', '/ask?header']) {
      const socket = await gateway.begin(path)
      await receivedUntil(socket, /begun/)
      socket.destroy()
      await gateway.recorded(path === '/ask' ? 1 : 2)
    }
    expect(gateway.calls.map(({ outcome, units }) => [outcome, units])).toEqual([
      ['client_aborted', 5],
      ['client_aborted', 7],
    ])
    expect([gateway.used('a'), gateway.counts.size]).toEqual([12, 0])
  })
})

it('A tool call costs the units of its response', async () => {
  const gateway = await open(
    (_, response) => response.writeHead(200, { 'content-type': 'application/json', [NAME]: '21' }).end('{}'),
    { 'x-tollgate-mcp': true },
  )
  const client = await openMcpClient(`http://127.0.0.1:${gateway.port}/things-v1/mcp`, 'key-a', '2026-07-28')
  await client.callTool({ name: 'ask', arguments: {} })
  expect(gateway.calls.filter(({ units }) => units > 0).map(({ units }) => units)).toEqual([21])
  expect([gateway.used('a'), gateway.usedAfterRestart('a')]).toEqual([21, 21])
})
