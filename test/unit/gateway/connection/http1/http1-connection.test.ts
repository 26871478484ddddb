import { describe, expect, it } from 'vitest'
import { readWithOurs } from './read-response.ts'

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
const read = (text: string, { method = 'GET', ends = false, splits = [] as readonly number[] } = {}) =>
  readWithOurs({ method, bytes: latin1(text), splits, ends })

const OK = 'HTTP/1.1 200 OK\r\n'

describe('a response', () => {
  it.each([
    ['a length', `${OK}Content-Length: 5\r\n\r\nhello`, 'GET', 'hello'],
    ['no body', `${OK}Content-Length: 0\r\n\r\n`, 'GET', ''],
    [
      'chunks',
      `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n`,
      'GET',
      'hello world',
    ],
    ['a trailer', `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-A: b\r\nX-B: c\r\n\r\n`, 'GET', 'a'],
    ['the length of what HEAD leaves out', `${OK}Content-Length: 5\r\n\r\n`, 'HEAD', ''],
    ['the coding of what HEAD leaves out', `${OK}Transfer-Encoding: chunked\r\n\r\n`, 'HEAD', ''],
    ['status 204', 'HTTP/1.1 204 No Content\r\n\r\n', 'GET', ''],
    ['status 304 and a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', 'GET', ''],
    [
      'interim responses before it',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\n${OK}Content-Length: 1\r\n\r\na`,
      'GET',
      'a',
    ],
    ['80 headers', `${OK}${'A: b\r\n'.repeat(80)}Content-Length: 1\r\n\r\na`, 'GET', 'a'],
  ])('with %s is read, however its bytes arrive', async (_, text, method, body) => {
    const whole = await read(text, { method })
    expect(whole).toMatchObject({ verdict: 'complete', body, isReusable: true })
    const offsets = Array.from({ length: text.length - 1 }, (_, index) => index + 1)
    const readings = await Promise.all(offsets.map((offset) => read(text, { method, splits: [offset] })))
    for (const [index, reading] of readings.entries()) expect([index, reading]).toEqual([index, whole])
    expect(await read(text, { method, splits: offsets })).toEqual(whole)
  })

  it.each([
    ['without a length', `${OK}\r\nhello`, 'hello'],
    ['with Connection: close', `${OK}Connection: close\r\nContent-Length: 5\r\n\r\nhello`, 'hello'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
    ['followed by another one', `${OK}Content-Length: 1\r\n\r\na${OK}Content-Length: 1\r\n\r\nb`, 'a'],
    ['followed by the start of another one', `${OK}Content-Length: 1\r\n\r\naHTT`, 'a'],
    [
      'with Connection in its trailer',
      `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nConnection: close\r\n\r\n`,
      'a',
    ],
    [
      'with Proxy-Connection in its trailer',
      `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nProxy-Connection: close\r\n\r\n`,
      'a',
    ],
    [
      'with a coding in its trailer',
      `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n`,
      'a',
    ],
    ['followed by something else', `${OK}Content-Length: 1\r\n\r\na\0`, 'a'],
    [
      'with a length in its trailer',
      `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nContent-Length: 7\r\n\r\n`,
      'a',
    ],
  ])('%s is the last one of its connection', async (_, text, body) => {
    expect(await read(text, { ends: true })).toMatchObject({
      verdict: 'complete',
      status: 200,
      body,
      isReusable: false,
    })
  })

  it.each([
    ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`],
    ['a length and a coding', `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`],
    ['a coding and a length', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n`],
    ['a coding in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'],
    ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 1\n\na'],
    ['a folded header', `${OK}A: b\r\n c\r\nContent-Length: 1\r\n\r\na`],
    ['a space before a colon', `${OK}Content-Length : 1\r\n\r\na`],
    ['a NUL in a header', `${OK}A: \0\r\nContent-Length: 1\r\n\r\na`],
    ['another version', 'HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\na'],
    ['a status below 100', 'HTTP/1.1 099 Low\r\nContent-Length: 1\r\n\r\na'],
    ['status 101', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n'],
    ['a chunk size that is no number', `${OK}Transfer-Encoding: chunked\r\n\r\nx\r\na\r\n0\r\n\r\n`],
    ['a chunk longer than its size', `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n`],
    ['a head above 32 KB', `${OK}A: ${'b'.repeat(33_000)}\r\nContent-Length: 1\r\n\r\na`],
    ['a trailer above 32 KB', `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nA: ${'b'.repeat(33_000)}\r\n\r\n`],
    ['fewer bytes than its length', `${OK}Content-Length: 9\r\n\r\nhello`],
    ['no last chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    [
      'an interim response with a length',
      `HTTP/1.1 199 A\r\nContent-Length: 1\r\n\r\na${OK}Content-Length: 1\r\n\r\na`,
    ],
    [
      'an interim response with chunks',
      `HTTP/1.1 104 A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n${OK}\r\n`,
    ],
    [
      'an interim response whose length is 0',
      `HTTP/1.1 100 A\r\nContent-Length: 0\r\n\r\n${OK}Content-Length: 1\r\n\r\na`,
    ],
    ['only interim responses', 'HTTP/1.1 100 Continue\r\n\r\n'],
    [
      'more than 1,000 interim responses',
      `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_001)}${OK}Content-Length: 1\r\n\r\na`,
    ],
  ])('with %s fails', async (_, text) => {
    expect(await read(text, { ends: true })).toMatchObject({ verdict: 'failed', isReusable: false })
  })

  it('with many interim responses, or in many chunks, is read', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)
    expect(await read(`${interim}${OK}Content-Length: 1\r\n\r\na`)).toMatchObject({ verdict: 'complete', body: 'a' })
    const chunks = `${OK}Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(20_000)}0\r\n\r\n`
    const splits = Array.from({ length: 10 }, (_, index) => (index + 1) * 10_000)
    expect(await read(chunks, { splits })).toMatchObject({
      verdict: 'complete',
      body: 'a'.repeat(20_000),
      isReusable: true,
    })
  })

  it('that never begins has a code of its own, since such a call may be sent again', async () => {
    expect(await read('', { ends: true })).toMatchObject({ code: 'TOLLGATE_CLOSED_BEFORE_RESPONSE' })
    for (const begun of ['H', 'HTTP/1.1 103 Early Hints\r\n\r\n']) {
      expect(await read(begun, { ends: true })).not.toMatchObject({ code: 'TOLLGATE_CLOSED_BEFORE_RESPONSE' })
    }
  })
})
