/** The gateway relays a response only if its framing is unambiguous. */

import { describe, expect, it } from 'vitest'
import { openRawBackend, openTestGateway } from '../../fixtures/test-gateway.ts'

const open = (headers = '', version = '1.1') => `GET /things-v1/open HTTP/${version}\r\nHost: a\r\n${headers}\r\n`
const CLOSE = 'Connection: close\r\n'

describe('a response of a backend', () => {
  const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const answering = (text: string) => openRawBackend((socket) => socket.on('data', () => socket.write(text, 'latin1')))

  it.each([
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['100 Continue with headers', 'HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n'],
    ['three times 100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3)],
    ['102 and 103', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'],
  ])('may follow %s, and its connection is used again', async (_, interim) => {
    const gateway = await openTestGateway({ backend: { origin: await answering(interim + ok), connections: 2 } })
    for (let index = 0; index < 3; index++) {
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\nok$/)
    }
    expect(gateway.revision.backend?.only?.gate.hasFailed).toBe(false)
  })

  it.each(['gzip', 'gzip, chunked', 'identity', 'chunked, chunked'])(
    'with the transfer coding %s becomes 502 upstream_broken',
    async (coding) => {
      const origin = await answering(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`)
      const gateway = await openTestGateway({ backend: { origin } })
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 502 [^]*upstream_broken/)
    },
  )

  it.each(['02', '0x2', '+2', '2.0', '2, 2', '2\r\nContent-Length: 2'])(
    'with the length %s becomes 502 upstream_broken',
    async (length) => {
      const origin = await answering(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\nok`)
      const gateway = await openTestGateway({ backend: { origin } })
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 502 [^]*upstream_broken/)
    },
  )

  it('loses the headers that its Connection header names, except for the length', async () => {
    const origin = await answering(
      'HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop, Content-Length\r\nX-Hop: 1\r\nX-End: 2\r\nContent-Length: 2\r\n\r\nok',
    )
    const gateway = await openTestGateway({ backend: { origin } })
    const text = await gateway.raw(open(CLOSE))
    expect(text).not.toMatch(/x-hop/i)
    expect(text).toMatch(/x-end: 2/i)
    expect(text).toMatch(/content-length: 2/i)
  })

  it('loses its length if it is a 204', async () => {
    const gateway = await openTestGateway({
      backend: { origin: await answering('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n') },
    })
    const text = await gateway.raw(open(CLOSE))
    expect(text).toMatch(/^HTTP\/1.1 204 /)
    expect(text).not.toMatch(/content-length|transfer-encoding/i)
  })

  it('may contain a length as a trailer, and its connection is closed', async () => {
    let connections = 0
    const origin = await openRawBackend((socket) => {
      connections++
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 7\r\n\r\n'),
      )
    })
    const gateway = await openTestGateway({ backend: { origin } })
    for (let index = 0; index < 3; index++) {
      expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\nok$/)
    }
    expect(connections).toBe(3)
  })

  it.each(['104 Upload', '199 Odd'])('whose interim response %s has a body becomes 502', async (status) => {
    const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL'
    const interim = `HTTP/1.1 ${status}\r\nContent-Length: ${forged.length}\r\n\r\n${forged}`
    const gateway = await openTestGateway({ backend: { origin: await answering(interim + ok) } })
    const text = await gateway.raw(open(CLOSE))
    expect(text).toMatch(/^HTTP\/1.1 502 [^]*upstream_broken/)
    expect(text).not.toContain('EVIL')
  })

  it('with both lengths in its head becomes 502', async () => {
    const origin = await answering(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    )
    const gateway = await openTestGateway({ backend: { origin } })
    expect(await gateway.raw(open(CLOSE))).toMatch(/^HTTP\/1.1 502 /)
  })
})
