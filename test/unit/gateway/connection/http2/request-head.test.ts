import { describe, expect, it } from 'vitest'
import { readHead } from '../../../../../src/gateway/connection/http2/request-head.ts'
import { pseudo } from './frames.ts'

const GET = pseudo().flat()

describe('readHead', () => {
  it('reads pseudo-headers as the request line and the host', () => {
    const head = readHead([...pseudo('PUT', '/a?b', 'a.example:8443', 'https').flat(), 'x-a', 'b'], false)
    expect(head).toEqual({
      method: 'PUT',
      target: '/a?b',
      raw: ['x-a', 'b', 'host', 'a.example:8443'],
      bodyBytes: -1,
      isMalformed: false,
      fault: 0,
    })
  })

  it('keeps the host of a request without an authority', () => {
    const received = GET.filter((_, index) => index !== 4 && index !== 5)
    expect(readHead([...received, 'host', 'b.example'], false)).toMatchObject({ raw: ['host', 'b.example'], fault: 0 })
    expect(readHead(received, false).raw).toEqual([])
  })

  it.each([
    ['two different hosts', [...GET, 'host', 'b.example'], 400],
    ['a second host that differs', [...GET, 'host', 'a.example', 'host', 'b.example'], 400],
    ['a host in other case', [...GET, 'host', 'A.example'], 400],
    ['CONNECT', [':method', 'CONNECT', ':authority', 'a.example:443'], 400],
    ['an unknown method', pseudo('FOO').flat(), 400],
    ['a method in lower case', pseudo('get').flat(), 400],
    ['another scheme', pseudo('GET', '/', 'a.example', 'ftp').flat(), 400],
    ['16 KB of headers', [...GET, 'x-a', 'b'.repeat(16_384)], 431],
    ['many small headers', [...GET, ...Array.from({ length: 500 }, () => ['a', 'b']).flat()], 431],
  ])('refuses %s', (_, received, fault) => {
    expect(readHead(received, false).fault).toBe(fault)
  })

  it('joins the parts of a cookie', () => {
    const { raw } = readHead([...GET, 'cookie', 'a=1', 'x-a', 'b', 'cookie', 'b=2; c=3'], false)
    expect(raw).toEqual(['x-a', 'b', 'cookie', 'a=1; b=2; c=3', 'host', 'a.example'])
    expect(readHead([...GET, 'cookie', '', 'cookie', 'a=1'], false).raw).toEqual(['cookie', 'a=1', 'host', 'a.example'])
  })

  it('adds a transfer coding if the length of a body is unknown, and only then', () => {
    const has = (received: readonly string[], hasBody: boolean): boolean =>
      readHead(received, hasBody).raw.includes('transfer-encoding')
    expect(has(GET, true)).toBe(true)
    expect(has(GET, false)).toBe(false)
    expect(has([...GET, 'content-length', '3'], true)).toBe(false)
  })
})
