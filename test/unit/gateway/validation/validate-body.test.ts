import { describe, expect, it } from 'vitest'
import { openTestValidator } from './test-validator.ts'

const body = (schema: unknown, mediaType = 'application/json') => ({
  operation: { requestBody: { required: true, content: { [mediaType]: { schema } } } },
})

describe('a request body', () => {
  it('is streamed unchanged if no schema is declared for it', async () => {
    const { send } = await openTestValidator({
      operation: {
        requestBody: {
          content: { 'application/json': {}, 'image/*': { schema: { type: 'string', format: 'binary' } } },
        },
      },
    })
    expect(send('/a', { body: 'not json' })).toBe('stream')
    expect(send('/a', { body: 'x', type: 'image/png' })).toBe('stream')
    expect(send('/a')).toBe('ok')
    expect(send('/a', { body: 'x', type: 'text/plain' })).toMatch(/^media_type_unsupported/)
  })

  it('is validated against its schema, and its errors have pointers', async () => {
    const schema = {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', maxLength: 5 },
        tags: { type: 'array', items: { enum: ['x', 'y'] }, uniqueItems: true },
      },
      additionalProperties: false,
    }
    const { send } = await openTestValidator(body(schema))
    const json = (value: unknown): string => send('/a', { body: JSON.stringify(value) })
    expect(json({ name: 'ann', tags: ['x', 'y'] })).toBe('ok')
    expect(json({})).toBe("payload_invalid:  must have required property 'name'")
    expect(json({ name: 7 })).toBe('payload_invalid: /name must be string')
    expect(json({ name: 'ann', tags: ['x', 'z'] })).toBe('payload_invalid: /tags/1 must be one of x, y')
    expect(json({ name: 'ann', tags: ['x', 'x'] })).toBe('payload_invalid: /tags must not have two equal items')
    expect(json({ name: 'ann', secret: 'hunter2' })).toBe('payload_invalid:  has a member that is not declared')
    expect(json(null)).toBe('payload_invalid:  must be object')
    expect(send('/a')).toBe('payload_invalid: The operation requires a body.')
  })

  it.each([
    ['not JSON', '{"a":', 'not valid JSON'],
    ['empty', '', 'not valid JSON'],
    ['a byte order mark', '\ufeff{}', 'not valid JSON'],
    ['two documents', '{}{}', 'not valid JSON'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not valid UTF-8'],
    ['a doubled member', '{"a":1,"a":2}', 'two members with the same name'],
    ['a doubled member with an escape', '{"a":1,"\\u0061":2}', 'two members with the same name'],
    ['a doubled member deep inside', '[{"x":[{"b":1,"b":2}]}]', 'two members with the same name'],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), 'more than 64 levels'],
    ['a million levels', '['.repeat(1_000_000), 'more than 64 levels'],
    [
      'too many members',
      `{${Array.from({ length: 50_001 }, (_, index) => `"${index}":1`).join(',')}}`,
      'more than 50000 members',
    ],
  ])('is refused if it is hostile: %s', async (_, text, why) => {
    const { send } = await openTestValidator(body({ minProperties: 0 }))
    expect(send('/a', { body: text })).toContain(why)
  })

  it('may have 64 levels and 50,000 members', async () => {
    const { send } = await openTestValidator(body({ minProperties: 0 }))
    expect(send('/a', { body: '['.repeat(64) + ']'.repeat(64) })).toBe('ok')
    const wide = `{${Array.from({ length: 50_000 }, (_, index) => `"${index}":1`).join(',')}}`
    expect(send('/a', { body: wide })).toBe('ok')
    expect(send('/a', { body: '{"a":{"x":1},"b":{"x":1},"x":["x","x"]}' })).toBe('ok')
  })

  it('may have member names such as __proto__ and constructor without effect', async () => {
    const { send } = await openTestValidator(
      body({ type: 'object', required: ['constructor'], properties: { toString: { type: 'integer' } } }),
    )
    expect(send('/a', { body: '{}' })).toMatch(/must have required property 'constructor'/)
    expect(send('/a', { body: '{"constructor":1,"__proto__":{"polluted":true}}' })).toBe('ok')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it.each([
    ['application/json', 'ok'],
    ['application/json; charset=utf-8', 'ok'],
    ['Application/JSON;charset="UTF-8"', 'ok'],
    ['application/json; charset=utf-16', 'media_type_unsupported'],
    ['application/json; charset=utf-8; charset=utf-16', 'media_type_unsupported'],
    ['application/json, text/plain', 'media_type_unsupported'],
    ['application/json;', 'media_type_unsupported'],
    ['application/json; charset', 'media_type_unsupported'],
    ['application/json x', 'media_type_unsupported'],
    [' application/json', 'media_type_unsupported'],
    ['application', 'media_type_unsupported'],
    ['application/', 'media_type_unsupported'],
    ['', 'media_type_unsupported'],
    ['application/json\u0000', 'media_type_unsupported'],
    [`application/json; a="${'b'.repeat(600)}"`, 'media_type_unsupported'],
    ['text/json', 'media_type_unsupported'],
  ])('with the content type "%s" gets %s', async (type, expected) => {
    const { send } = await openTestValidator(body({ type: 'object' }))
    expect(send('/a', { type, body: '{}' })).toMatch(new RegExp(`^${expected}`))
  })

  it('is refused without a type or in a content coding if it would be validated', async () => {
    const { send, validators } = await openTestValidator(body({ type: 'object' }))
    expect(validators?.body?.accepts(undefined, true)).toMatchObject({ code: 'media_type_unsupported' })
    expect(send('/a', { body: '{}', encoding: 'br' })).toMatch(/^media_type_unsupported/)
    expect(send('/a', { body: '{}', encoding: 'identity' })).toBe('ok')
  })

  it('is validated if a range of types is declared', async () => {
    for (const range of ['*/*', 'application/*', 'application/merge-patch+json']) {
      const { send } = await openTestValidator(body({ type: 'object', required: ['a'] }, range))
      const type = range.includes('*') ? 'application/json' : range
      expect(send('/a', { type, body: '{}' }), range).toMatch(/^payload_invalid/)
      expect(send('/a', { type, body: '{"a":1}' }), range).toBe('ok')
    }
  })

  it('is typed field by field if it is a form', async () => {
    const schema = {
      type: 'object',
      required: ['age'],
      properties: {
        age: { type: 'integer' },
        tag: { type: 'array', items: { type: 'integer' } },
        name: { type: 'string', maxLength: 3 },
      },
      additionalProperties: false,
    }
    const { send } = await openTestValidator(body(schema, 'application/x-www-form-urlencoded'))
    const form = (text: string): string => send('/a', { type: 'application/x-www-form-urlencoded', body: text })
    expect(form('age=7&tag=1&tag=2&name=%C3%A9+x')).toBe('ok')
    expect(form('age=x')).toBe('payload_invalid: /age must be integer')
    expect(form('age=1&age=2')).toBe('payload_invalid: /age must be integer')
    expect(form('age=1&tag=x')).toBe('payload_invalid: /tag/0 must be integer')
    expect(form('name=abc')).toMatch(/required property 'age'/)
    expect(form('age=1&__proto__=2')).toMatch(/not declared/)
    expect(form('age=1&name=%ff')).toBe('payload_invalid: The form cannot be decoded.')
    expect(form('a&'.repeat(2_000))).toBe('payload_invalid: The form has too many fields.')
  })

  it('is validated by OpenAPI 3.0 where that differs from JSON Schema', async () => {
    const { send } = await openTestValidator({
      ...body({ $ref: '#/components/schemas/Thing', required: ['ignored'] }),
      components: {
        schemas: {
          Thing: {
            type: 'object',
            required: ['id', 'kind'],
            properties: {
              id: { type: 'integer', readOnly: true },
              kind: { type: 'string', nullable: true, enum: ['a', 'b'] },
              price: { type: 'number', minimum: 0, exclusiveMinimum: true },
              owner: { nullable: true, allOf: [{ $ref: '#/components/schemas/Owner' }] },
              parent: { $ref: '#/components/schemas/Thing' },
            },
          },
          Owner: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        },
      },
    })
    const json = (value: unknown): string => send('/a', { body: JSON.stringify(value) })
    expect(json({ kind: 'a' })).toBe('ok')
    expect(json({ kind: null, owner: null })).toBe('ok')
    expect(json({ kind: 'c' })).toMatch(/\/kind must be one of a, b/)
    expect(json({ kind: 'a', price: 0 })).toBe('payload_invalid: /price must be > 0')
    expect(json({ kind: 'a', owner: {} })).toMatch(/\/owner/)
    expect(json({ kind: 'a', parent: { kind: 'b', parent: {} } })).toBe(
      "payload_invalid: /parent/parent must have required property 'kind'",
    )
  })

  it('is validated by JSON Schema 2020-12 in OpenAPI 3.1', async () => {
    const { send } = await openTestValidator({
      openapi: '3.1.0',
      ...body({
        type: ['object', 'null'],
        properties: {
          a: { $ref: '#/components/schemas/List', maxItems: 2 },
          b: { $id: 'https://elsewhere.example/b', const: 1 },
        },
        unevaluatedProperties: false,
      }),
      components: { schemas: { List: { type: 'array', prefixItems: [{ type: 'integer' }], exclusiveMinimum: 3 } } },
    })
    const json = (value: unknown): string => send('/a', { body: JSON.stringify(value) })
    expect(json(null)).toBe('ok')
    expect(json({ a: [1, 'x'], b: 1 })).toBe('ok')
    expect(json({ a: ['x'] })).toBe('payload_invalid: /a/0 must be integer')
    expect(json({ a: [1, 2, 3] })).toMatch(/\/a must NOT have more than 2 items/)
    expect(json({ c: 1 })).toBe('payload_invalid:  has a member that is not declared')
  })

  it('ends the validation of a schema that refers to itself on every branch', async () => {
    const branch = (required: string) => ({
      required: [required],
      properties: { next: { $ref: '#/components/schemas/Node' } },
    })
    const { send } = await openTestValidator({
      ...body({ $ref: '#/components/schemas/Node' }),
      components: {
        schemas: {
          Node: { type: 'object', anyOf: ['a', 'b', 'c'].map((name) => ({ allOf: [branch('next'), branch(name)] })) },
        },
      },
    })
    const nested = '{"next":'.repeat(40) + '{}' + '}'.repeat(40)
    expect(send('/a', { body: nested })).toMatch(/needs more validation steps than allowed/)
    expect(send('/a', { body: '{"a":1,"next":{}}' })).toMatch(/^payload_invalid/)
  })

  it('is checked for equal items in one pass', async () => {
    const { send } = await openTestValidator(body({ type: 'array', uniqueItems: true }))
    const items = Array.from({ length: 100_000 }, (_, index) => `[${index}]`)
    expect(send('/a', { body: `[${items.join(',')}]` })).toBe('ok')
    expect(send('/a', { body: '[{"a":1,"b":2},{"b":2,"a":1}]' })).toMatch(/two equal items/)
    expect(send('/a', { body: '[1,"1",null,"null",[],{}]' })).toBe('ok')
  })

  it.each(['3.0.3', '3.1.0'])('is matched with each pattern at its own place only (%s)', async (openapi) => {
    const Code = { type: 'string', pattern: '^c+$' }
    const properties = {
      a: { type: 'string', pattern: '^a+$' },
      b: { type: 'string', pattern: '^b+$' },
      c: { $ref: '#/components/schemas/Code' },
    }
    const { send } = await openTestValidator({
      ...body({ type: 'object', properties }),
      components: { schemas: { Code } },
      openapi,
    })
    const json = (value: unknown): string => send('/a', { body: JSON.stringify(value) })
    expect(json({ a: 'aa', b: 'bb', c: 'cc' })).toBe('ok')
    for (const wrong of [{ a: 'b' }, { b: 'a' }, { c: 'a' }, { c: 'b' }]) {
      expect(json(wrong)).toMatch(/^payload_invalid: \/[abc] must match pattern/)
    }
  })

  it('is validated by a schema of OpenAPI 3.2, and by one that is 200 levels deep', async () => {
    let schema: Record<string, unknown> = { type: ['integer', 'null'], maximum: 5 }
    let [good, bad]: unknown[] = [5, 6]
    for (let level = 0; level < 47; level++) {
      schema = { type: 'object', properties: { a: { allOf: [schema] } } }
      ;[good, bad] = [{ a: good }, { a: bad }]
    }
    const { send } = await openTestValidator({ ...body(schema), openapi: '3.2.0' })
    expect(send('/a', { body: JSON.stringify(good) })).toBe('ok')
    expect(send('/a', { body: JSON.stringify(bad) })).toMatch(/must be <= 5/)
  })

  it('cannot make a format or a pattern slow', async () => {
    const formats = [
      'email',
      'uri',
      'uri-reference',
      'hostname',
      'date-time',
      'ipv6',
      'uuid',
      'json-pointer',
      'duration',
      'regex',
      'byte',
    ]
    for (const format of formats) {
      const { send } = await openTestValidator(body({ type: 'string', format }))
      for (const piece of ['a', 'a.', ':', '0', '/', '%41', '-', 'a@', 'AAAA', '(a']) {
        send('/a', { body: JSON.stringify(`${piece.repeat(1_000_000 / piece.length)}!`) })
      }
    }
    const { send } = await openTestValidator(body({ type: 'string', pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' }))
    expect(send('/a', { body: JSON.stringify('a'.repeat(500_000)) })).toMatch(/must match pattern/)
  })
})
