import { describe, expect, it } from 'vitest'
import { toStablePointer } from '../../../../../src/documents/governance/lint/stable-pointer.ts'

const DOCUMENT = {
  servers: [{ url: 'https://a.example' }],
  tags: ['x', { name: 'cards' }],
  'a/b': [{ name: 'id', in: 'path', schema: { allOf: [{ $ref: '#/a' }, { type: 'string' }] } }, [1]],
}

describe('a stable pointer', () => {
  it.each([
    ['', ''],
    ['/servers/0/url', '/servers/https://a.example/url'],
    ['/tags/0', '/tags/x'],
    ['/tags/1/name', '/tags/cards/name'],
    ['/a~1b/0/schema/type', '/a~1b/id path/schema/type'],
    ['/a~1b/0/schema/allOf/0', '/a~1b/id path/schema/allOf/#/a'],
    ['/a~1b/0/schema/allOf/1/type', '/a~1b/id path/schema/allOf/1/type'],
    ['/a~1b/1/0', '/a~1b/1/0'],
    ['/none/4/name', '/none/4/name'],
    ['/__proto__/constructor', '/__proto__/constructor'],
  ])('of %s is %s', (pointer, stable) => {
    expect(toStablePointer(DOCUMENT, pointer)).toBe(stable)
  })
})
