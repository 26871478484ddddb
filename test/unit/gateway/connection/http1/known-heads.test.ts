import { describe, expect, it } from 'vitest'
import { HEAD_BYTES_MAX, Log } from './open-log.ts'

const HEADERS = 'Host: a.example\r\nAuthorization: Bearer abc\r\n\r\n'
const requestFor = (target: string, method = 'GET'): string => `${method} ${target} HTTP/1.1\r\n${HEADERS}`
const FIELDS = 'Host|a.example|Authorization|Bearer abc'
const response = (headers: string, body: string, length = body.length): string =>
  `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${length}\r\n\r\n${body}`

/** Reads each text at once. Returns how often Node's parser was asked for each. */
const readAll = (log: Log, texts: readonly string[]): readonly number[] => texts.map((text) => log.read([text]))

/** Returns a log whose parser knows the head of `requestFor`. */
function openKnown(method = 'GET'): Log {
  const log = new Log('requests')
  expect(
    readAll(
      log,
      ['/a', '/b', '/c'].map((target) => requestFor(target, method)),
    ),
  ).toEqual([1, 1, 0])
  log.events.length = 0
  return log
}

describe('a request whose headers have come twice', () => {
  it('is read without the parser, whatever its target is', () => {
    const log = new Log('requests')
    const targets = ['/a', '/b', '/c', '/d/1?e=%20&f=g', `/${'h'.repeat(300)}`]
    expect(
      readAll(
        log,
        targets.map((target) => requestFor(target)),
      ),
    ).toEqual([1, 1, 0, 0, 0])
    expect(log.events).toEqual(targets.flatMap((target) => [`GET ${target} 1.1 open ${FIELDS}`, 'end']))
    expect(log.isBetweenMessages()).toBe(true)
  })

  it.each([
    ['another method', requestFor('/a', 'DELETE')],
    ['a longer method', requestFor('/a', 'GETT')],
    ['a target with a space', requestFor('/a /b')],
    ['a target with a control character', requestFor('/a\tb')],
    ['a target with a line break', requestFor('/a HTTP/1.1\r\nX: y')],
    ['a target with a request', requestFor('/a HTTP/1.1\r\n\r\nGET /b')],
    ['a target beyond ASCII', requestFor('/\xfc')],
    ['a target that is no path', requestFor('*')],
    ['a target with an authority', requestFor('http://b.example/')],
    ['no target', requestFor('')],
    ['a line break before it', `\r\n${requestFor('/a')}`],
    ['another request behind it', requestFor('/a') + requestFor('/b')],
    ['a part of another request behind it', `${requestFor('/a')}G`],
    ['another version', requestFor('/a').replace('1.1', '1.0')],
    ['another header', requestFor('/a').replace('abc', 'abd')],
    ['another case', requestFor('/a').replace('Host', 'host')],
    ['bare line feeds', requestFor('/a').replaceAll('\r\n', '\n')],
    ['a head that is too long', requestFor(`/${'a'.repeat(HEAD_BYTES_MAX)}`)],
  ])('is parsed if it has %s', (_, text) => {
    const log = openKnown()
    expect(log.read([text])).toBe(1)
    const fresh = new Log('requests')
    fresh.read([text])
    expect(log.events).toEqual(fresh.events)
  })

  it('is a body if it stands where one is announced', () => {
    const log = openKnown()
    const text = requestFor('/smuggled')
    readAll(log, [`POST / HTTP/1.1\r\nContent-Length: ${text.length}\r\n\r\n`, text, requestFor('/b')])
    expect(log.events).toEqual([
      `POST / 1.1 open Content-Length|${text.length}`,
      `body ${text}`,
      'end',
      `GET /b 1.1 open ${FIELDS}`,
      'end',
    ])
  })

  it('is a header or a target if a head has begun', () => {
    for (const start of [
      'GET / HTTP/1.1\r\nX-A: ',
      'GET /',
      'GET ',
      'GE',
      'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ]) {
      const log = openKnown()
      const fresh = new Log('requests')
      expect(log.read([start, requestFor('/b')])).toBe(2)
      fresh.read([start + requestFor('/b')])
      expect([start, log.events]).toEqual([start, fresh.events])
    }
  })

  it('is refused behind one that closes the connection, as by the parser', () => {
    const log = openKnown()
    log.read([`GET /last HTTP/1.1\r\nConnection: close\r\n\r\n`])
    expect(log.read([requestFor('/b')])).toBe(1)
    expect(log.events).toEqual(['GET /last 1.1 close Connection|close', 'end', 'error'])
  })

  it.each(['Connection: close', 'Proxy-Connection: close', 'X-A: b'])('is parsed behind the trailer %s', (trailer) => {
    const posted = `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${trailer}\r\n\r\n`
    const log = openKnown()
    expect(log.read([posted, requestFor('/b')])).toBe(2)
    const fresh = new Log('requests')
    fresh.read([posted, requestFor('/b')])
    expect(log.events).toEqual(fresh.events)
    expect(log.events.at(-1)).toBe(trailer === 'X-A: b' ? 'end' : 'error')
  })

  it('is not read behind a request to upgrade, until the parser goes on', () => {
    const upgrade = 'GET /up HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'
    const log = openKnown()
    expect(log.read([upgrade, requestFor('/b')])).toBe(1)
    expect(log.events.slice(1)).toEqual(['end', 'rest'])
    const later = openKnown()
    expect(readAll(later, [upgrade, requestFor('/b'), upgrade, upgrade, upgrade])).toEqual([1, 0, 1, 1, 1])
    expect(later.events.slice(2, 4)).toEqual([`GET /b 1.1 open ${FIELDS}`, 'end'])
  })

  it('is not known with a body, or over HTTP/1.0', () => {
    for (const text of [
      'POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na',
      'POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n',
      'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
    ]) {
      const log = new Log('requests')
      expect(readAll(log, [text, text, text])).toEqual([1, 1, 1])
    }
  })

  it('is forgotten when the connection asks for it', () => {
    const log = openKnown()
    log.evict()
    expect(readAll(log, [requestFor('/a'), requestFor('/a'), requestFor('/a')])).toEqual([1, 1, 0])
  })

  it('is remembered until others have come twice', () => {
    const log = openKnown()
    const other = 'GET /b HTTP/1.1\r\nHost: b.example\r\n\r\n'
    expect(readAll(log, [other, requestFor('/a'), other, other, other, requestFor('/a')])).toEqual([1, 0, 1, 1, 0, 1])
  })
})

describe('a response whose headers have come twice', () => {
  const SAME = response('Server: a\r\n', 'hello')

  function openKnownResponse(): Log {
    const log = new Log('responses')
    expect(readAll(log, [SAME, SAME, SAME])).toEqual([1, 1, 0])
    log.events.length = 0
    return log
  }

  it('is read without the parser, whatever its body is', () => {
    const log = new Log('responses')
    const bodies = ['hello', 'world', 'third', '\r\n\r\na']
    expect(
      readAll(
        log,
        bodies.map((body) => response('', body)),
      ),
    ).toEqual([1, 1, 0, 0])
    expect(log.events).toEqual(bodies.flatMap((body) => ['200 GET true false Content-Length|5', `body ${body}`]))
    expect(log.isBetweenMessages()).toBe(true)
  })

  it('has a body of its own', () => {
    const bytes = Buffer.from(response('', 'x'.repeat(5_000)))
    const log = new Log('responses')
    for (let count = 0; count < 3; count++) log.readBytes(bytes)
    log.keepBodies = true
    log.readBytes(bytes)
    bytes.fill('y')
    expect(log.bodies.map((body) => body.toString())).toEqual(['x'.repeat(5_000)])
  })

  it.each([
    ['more bytes than its body', `${SAME}a`],
    ['another response behind it', SAME + SAME],
    ['fewer bytes than its body', SAME.slice(0, -1)],
    ['no body yet', SAME.slice(0, SAME.indexOf('hello'))],
    ['another status', SAME.replace('200', '201')],
    ['another reason', SAME.replace('OK', 'KO')],
    ['another version', SAME.replace('1.1', '1.0')],
    ['another header', SAME.replace('Server: a', 'Server: b')],
    ['an interim response before it', `HTTP/1.1 103 E\r\n\r\n${SAME}`],
    ['a line break before it', `\r\n${SAME}`],
  ])('is parsed if it has %s', (_, text) => {
    const log = openKnownResponse()
    expect(log.read([text])).toBe(1)
    const fresh = new Log('responses')
    fresh.read([text])
    expect(log.events).toEqual(fresh.events)
  })

  it('is parsed if it has no body because of its request, or was not asked for', () => {
    const log = openKnownResponse()
    const head = SAME.slice(0, SAME.indexOf('hello'))
    expect(log.read([head], 'HEAD')).toBe(1)
    expect(log.read([SAME], 'HEAD')).toBe(1)
    expect(log.events.slice(0, 3)).toEqual([
      '200 HEAD true false Server|a|Content-Length|5',
      'end',
      '200 HEAD true false Server|a|Content-Length|5',
    ])
    const unasked = openKnownResponse()
    expect(unasked.readBytes(Buffer.from(SAME), null)).toBe(1)
    expect(unasked.events[0]).toMatch(/^200 unasked/)
  })

  it('is not known if it ends with its connection, is chunked, empty, or the last one', () => {
    for (const text of [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 204 No\r\n\r\n',
      'HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n',
    ]) {
      const log = new Log('responses')
      expect(readAll(log, [text, text, text])).toEqual([1, 1, 1])
    }
    const last = new Log('responses')
    last.read([response('Connection: close\r\n', 'a')])
    expect(last.read([response('Connection: close\r\n', 'a')])).toBe(1)
    expect(last.events.at(-1)).toBe('error')
  })

  it('is the body of one without an end', () => {
    const log = openKnownResponse()
    log.read(['HTTP/1.1 200 OK\r\n\r\n', SAME])
    expect(log.events).toEqual(['200 GET false false ', `body ${SAME}`])
  })
})
