import { describe, expect, it } from 'vitest'
import {
  toGatewayRequest,
  TRY_BODY_BYTES_MAX,
  TRY_SCHEMA,
  type TryInput,
} from '../../../../src/interfaces/console-server/try-request.ts'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { createValidatorCompiler } from '../../../../src/interfaces/platform/validator.ts'

const INPUT: TryInput = { api: 'ledger-v1', method: 'GET', path: '/entries', query: [], headers: [], body: null }

/** Returns the pointer of the refusal, or null. */
function refusalOf(change: Partial<TryInput>): string | null {
  try {
    toGatewayRequest({ ...INPUT, ...change })
    return null
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    expect(cause.status).toBe(400)
    return cause.errors[0]?.pointer ?? ''
  }
}

describe('a call that is tried', () => {
  it('goes to a path below its API, with the query and the headers that were given', () => {
    const input: TryInput = {
      api: 'ledger-v1',
      method: 'POST',
      path: '/entries/a%20b/~c',
      query: [
        ['n', '1&m=2'],
        ['n', 'é #?'],
      ],
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Shop', 'Berlin, Paris'],
      ],
      body: '{"é":1}',
    }
    expect(toGatewayRequest(input)).toEqual({
      method: 'POST',
      path: '/ledger-v1/entries/a%20b/~c?n=1%26m%3D2&n=%C3%A9%20%23%3F',
      headers: input.headers,
      body: Buffer.from('{"é":1}'),
    })
  })

  it.each([
    '',
    'entries',
    '//evil.example/',
    '/a//b',
    'http://evil.example/',
    '/../other-v1/entries',
    '/a/..',
    '/a/./b',
    '/%2e%2e/other-v1',
    '/%2E%2e/other-v1',
    '/.%2e/other-v1',
    '/a/..;x=1/b',
    '/..%2fother-v1',
    '/a%5c..%5cb',
    '/a\\b',
    '/a?b=1',
    '/a#b',
    '/a b',
    '/a\r\nHost: evil.example',
    '/a%0d%0aHost:%20evil.example',
    '/a%00',
    '/a%7f',
    '/a%zz',
    '/a%',
    '/é',
    '@evil.example/',
    '/\u2028',
  ])('cannot leave the path of its API: %j', (path) => {
    expect(refusalOf({ path })).toBe('/path')
  })

  it('keeps what looks like another place within a segment', () => {
    for (const path of ['/', '/...', '/a..b', '/@evil.example:80', '/entries;v=1', "/$batch(1)/'x'"])
      expect({ path, refused: refusalOf({ path }) }).toEqual({ path, refused: null })
  })

  it.each([
    'Authorization',
    'authorization',
    'Proxy-Authorization',
    'Cookie',
    'Cookie2',
    'X-Api-Key',
    'X-ApiKey',
    'Host',
    'X-Host',
    'Content-Length',
    'Transfer-Encoding',
    'TE',
    'Trailer',
    'Connection',
    'Keep-Alive',
    'Upgrade',
    'Expect',
    'Accept-Encoding',
    'Forwarded',
    'Via',
    'CDN-Loop',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Real-IP',
    'X-Client-IP',
    'X-Cluster-Client-Ip',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-HTTP-Method-Override',
    'X-Method-Override',
    'X-Consumer-Id',
    'X-Subscription-Id',
    'X-Agent-Id',
    'X-On-Behalf-Of',
    'X-Request-Id',
    'X_Forwarded_For',
    'X-Forwarded_For',
    'X-Shop_Id',
    'Origin',
    'Referer',
    'Sec-Fetch-Site',
    'tollgate-console',
    '',
    'X-A:',
    'X-A b',
    'X-A\r\nHost',
    'X-É',
    ':authority',
  ])('does not carry the header %j', (name) => {
    expect(refusalOf({ headers: [[name, 'value']] })).toBe('/headers/0/0')
  })

  it.each(['a\r\nX-Api-Key: b', 'a\nb', 'a\0b', 'é', ' a', 'a ', '\t', '\u007f'])(
    'does not carry the value %j of a header',
    (value) => {
      expect(refusalOf({ headers: [['X-Shop', value]] })).toBe('/headers/0/1')
    },
  )

  it('carries a header once, because two parties may each read another one', () => {
    const headers = [['X-Shop', 'a'] as const, ['x-shop', 'b'] as const]
    expect(refusalOf({ headers })).toBe('/headers/1/0')
  })

  it('is bounded in its query, its headers and its body', () => {
    const long = 'x'.repeat(4_000)
    expect(refusalOf({ query: Array.from({ length: 2 }, () => ['n', long] as const) })).toBe('/query')
    expect(refusalOf({ headers: ['x-a', 'x-b', 'x-c'].map((name) => [name, long] as const) })).toBe('/headers')
    // Characters that are several bytes.
    expect(refusalOf({ method: 'POST', body: 'é'.repeat(TRY_BODY_BYTES_MAX / 2 + 1) })).toBe('/body')
    expect(refusalOf({ method: 'POST', body: 'é'.repeat(TRY_BODY_BYTES_MAX / 2) })).toBe(null)
  })

  it('has no body that the gateway would take for the next request', () => {
    for (const method of ['GET', 'HEAD']) expect(refusalOf({ method, body: '' })).toBe('/body')
  })

  it('sends a text that is not well-formed as one that is', () => {
    const { path } = toGatewayRequest({ ...INPUT, query: [['n', '\ud800']] })
    expect(path).toBe('/ledger-v1/entries?n=%EF%BF%BD')
  })
})

describe('the schema of a call that is tried', () => {
  const validate = createValidatorCompiler()({ schema: TRY_SCHEMA })

  it('accepts a call', () => {
    expect(validate({ ...INPUT, query: [['n', '']], headers: [['x-shop', '']] })).toBe(true)
  })

  it.each<[string, object]>([
    ['another member', { url: 'http://evil.example/' }],
    ['an API that is a path', { api: '../ledger-v1' }],
    ['an API with a slash', { api: 'ledger-v1/x' }],
    ['an API with a line break', { api: 'ledger-v1\n' }],
    ['an API without a version', { api: 'ledger' }],
    ['an API in upper case', { api: 'Ledger-v1' }],
    ['another method', { method: 'TRACE' }],
    ['the method of a tunnel', { method: 'CONNECT' }],
    ['a method with a line break', { method: 'GET\r\n' }],
    ['a method in lower case', { method: 'get' }],
    ['a list as path', { path: ['/entries'] }],
    ['a long path', { path: `/${'x'.repeat(5_000)}` }],
    ['a query that is an object', { query: { n: '1' } }],
    ['a pair of three', { query: [['n', '1', '2']] }],
    ['a pair of one', { headers: [['x-shop']] }],
    ['a number as value', { query: [['n', 1]] }],
    ['many headers', { headers: Array.from({ length: 31 }, (_, number) => [`x-${number}`, '']) }],
    ['a body that is an object', { body: {} }],
    ['a long body', { body: 'x'.repeat(TRY_BODY_BYTES_MAX + 1) }],
  ])('refuses %s', (_, change) => {
    expect(validate({ ...INPUT, ...change })).toBe(false)
  })

  it.each(Object.keys(INPUT))('requires %s', (name) => {
    const { [name as keyof TryInput]: _, ...rest } = INPUT
    expect(validate(rest)).toBe(false)
  })
})
