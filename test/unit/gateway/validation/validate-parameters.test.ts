import { describe, expect, it } from 'vitest'
import { openTestValidator } from './test-validator.ts'

const parameter = (place: string, name: string, schema: unknown, more = {}) => ({ in: place, name, schema, ...more })
const withParameters = (...parameters: unknown[]) => ({ operation: { parameters } })

describe('request parameters', () => {
  it('need no validation if none has a schema', async () => {
    const { validators } = await openTestValidator({
      path: '/a/{x}',
      ...withParameters(parameter('path', 'x', { type: 'string' }, { required: true }), parameter('query', 'q', {})),
    })
    expect(validators).toEqual({ parameters: null, body: null })
  })

  it('of a path are decoded once and validated', async () => {
    const { send } = await openTestValidator({
      path: '/a/{id}/{word}',
      ...withParameters(
        parameter('path', 'id', { type: 'integer', minimum: 1 }, { required: true }),
        parameter('path', 'word', { type: 'string', maxLength: 3, pattern: '^[a-zé%/]+$' }, { required: true }),
      ),
    })
    expect(send('/a/7/abc')).toBe('ok')
    expect(send('/a/7/%C3%A9%C3%A9')).toBe('ok')
    expect(send('/a/7/a%25')).toBe('ok')
    expect(send('/a/0/abc')).toBe('payload_invalid: /path/id must be >= 1')
    expect(send('/a/1e3/abc')).toBe('payload_invalid: /path/id must be integer')
    expect(send('/a/x/abcd')).toMatch(/\/path\/id must be integer; \/path\/word must NOT have more than 3/)
    expect(send('/a/9223372036854775807/abc')).toBe('ok')
  })

  it('of content are JSON texts, and each occurs once', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
    const content = { 'application/json; charset=utf-8': { schema } }
    const { send } = await openTestValidator({
      path: '/a/{x}',
      ...withParameters(
        { in: 'path', name: 'x', required: true, content: { 'application/json': { schema: { type: 'integer' } } } },
        { in: 'query', name: 'q', content },
        { in: 'header', name: 'X-Q', content },
        { in: 'query', name: 'text', content: { 'text/plain': { schema } } },
      ),
    })
    const json = encodeURIComponent('{"a":1}')
    expect(send('/a/1')).toBe('ok')
    expect(send('/a/b')).toBe('payload_invalid: /path/x is not valid JSON')
    expect(send(`/a/1?q=${json}&text=any`, { headers: { 'x-q': '{"a":1}' } })).toBe('ok')
    expect(send(`/a/1?q=${encodeURIComponent('{"a":"1"}')}`)).toBe('payload_invalid: /query/q/a must be integer')
    expect(send('/a/1?q=a')).toBe('payload_invalid: /query/q is not valid JSON')
    expect(send(`/a/1?q=${json}&q=${json}`)).toBe('payload_invalid: /query/q must occur once')
    expect(send('/a/1', { headers: { 'x-q': '{}' } })).toMatch(/\/header\/X-Q must have required property/)
  })

  it('of a query are typed by their schema, also through references and alternatives', async () => {
    const { send } = await openTestValidator({
      operation: {
        parameters: [
          { $ref: '#/components/parameters/Limit' },
          parameter('query', 'on', { type: 'boolean' }),
          parameter('query', 'ids', { type: 'array', items: { $ref: '#/components/schemas/Id' }, maxItems: 2 }),
          parameter('query', 'csv', { type: 'array', items: { type: 'number' } }, { explode: false }),
          parameter('query', 'either', { oneOf: [{ type: 'integer' }, { type: 'string', enum: ['all'] }] }),
          parameter('query', 'state', { enum: ['open', 'closed'] }),
        ],
      },
      components: {
        schemas: { Id: { type: 'integer' } },
        parameters: { Limit: parameter('query', 'limit', { type: 'integer', maximum: 100 }, { required: true }) },
      },
    })
    expect(send('/a?limit=100&on=true&ids=1&ids=2&csv=1.5,2&either=all&state=open&undeclared=x')).toBe('ok')
    expect(send('/a?limit=1&either=12')).toBe('ok')
    expect(send('/a?limit=1&csv=1%2C2')).toBe('ok')
    expect(send('/a')).toBe('payload_invalid: /query/limit is required')
    expect(send('/a?limit=101')).toBe('payload_invalid: /query/limit must be <= 100')
    expect(send('/a?limit=1&limit=2')).toBe('payload_invalid: /query/limit must be integer')
    expect(send('/a?limit=')).toBe('payload_invalid: /query/limit must be integer')
    expect(send('/a?limit=1&on=yes')).toBe('payload_invalid: /query/on must be boolean')
    expect(send('/a?limit=1&ids=1&ids=x')).toBe('payload_invalid: /query/ids/1 must be integer')
    expect(send('/a?limit=1&ids=1&ids=2&ids=3')).toMatch(/\/query\/ids must NOT have more than 2/)
    expect(send('/a?limit=1&either=none')).toMatch(/payload_invalid: \/query\/either/)
    expect(send('/a?limit=1&state=secret')).toBe('payload_invalid: /query/state must be one of open, closed')
    expect(send('/a?limi%74=101')).toBe('payload_invalid: /query/limit must be <= 100')
  })

  it('of a query that cannot be decoded are refused only if they are declared', async () => {
    const { send } = await openTestValidator(withParameters(parameter('query', 'q', { type: 'string', maxLength: 3 })))
    expect(send('/a?other=%E9&%zz=1')).toBe('ok')
    expect(send('/a?q=%E9')).toBe('payload_invalid: /query/q cannot be decoded')
    expect(send('/a?q=a+b')).toBe('ok')
    expect(send('/a?q=a+b+c')).toMatch(/must NOT have more than 3/)
    expect(send(`/a?${'x&'.repeat(2_000)}`)).toBe('payload_invalid: The query has too many parts.')
    expect(send('/a?&&q&=&')).toBe('ok')
  })

  it('can be objects in the styles of OpenAPI', async () => {
    const schema = {
      type: 'object',
      properties: { min: { type: 'integer' }, word: { type: 'string', maxLength: 2 } },
      additionalProperties: false,
    }
    const { send } = await openTestValidator(
      withParameters(
        parameter('query', 'deep', schema, { style: 'deepObject', explode: true }),
        parameter('query', 'flat', schema, { style: 'form', explode: false }),
        parameter('query', 'spread', schema),
        parameter(
          'query',
          'pipes',
          { type: 'array', items: { type: 'integer' } },
          { style: 'pipeDelimited', explode: false },
        ),
      ),
    )
    expect(send('/a?deep[min]=1&deep%5Bword%5D=ab&flat=min,1,word,ab&min=3&pipes=1|2')).toBe('ok')
    expect(send('/a?deep[min]=x')).toBe('payload_invalid: /query/deep/min must be integer')
    expect(send('/a?deep[other]=x')).toBe('payload_invalid: /query/deep has a member that is not declared')
    expect(send('/a?deep[__proto__]=x')).toBe('payload_invalid: /query/deep has a member that is not declared')
    expect(send('/a?flat=min,x')).toBe('payload_invalid: /query/flat/min must be integer')
    expect(send('/a?word=abc')).toMatch(/\/query\/spread\/word must NOT/)
    expect(send('/a?pipes=1|x')).toBe('payload_invalid: /query/pipes/1 must be integer')
  })

  it('of headers and cookies are validated', async () => {
    const { send } = await openTestValidator(
      withParameters(
        parameter('header', 'X-Count', { type: 'integer' }, { required: true }),
        parameter('header', 'Authorization', { type: 'integer' }, { required: true }),
        parameter('cookie', 'session', { type: 'string', minLength: 3 }, { required: true }),
      ),
    )
    const headers = { 'x-count': '3', cookie: 'a=b; session=abc' }
    expect(send('/a', { headers })).toBe('ok')
    expect(send('/a', { headers: { ...headers, 'x-count': 'many' } })).toBe(
      'payload_invalid: /header/X-Count must be integer',
    )
    expect(send('/a', { headers: { 'x-count': '3' } })).toBe('payload_invalid: /cookie/session is required')
    expect(send('/a', { headers: { ...headers, cookie: 'session=abc; session=xyz' } })).toMatch(
      /\/cookie\/session must be string/,
    )
    expect(send('/a')).toBe('payload_invalid: /header/X-Count is required; /cookie/session is required')
  })

  it('in unsupported styles are not validated', async () => {
    const { send } = await openTestValidator({
      path: '/a/{m}',
      ...withParameters(parameter('path', 'm', { type: 'integer' }, { required: true, style: 'matrix' })),
    })
    expect(send('/a/;m=1')).toBe('ok')
  })
})
