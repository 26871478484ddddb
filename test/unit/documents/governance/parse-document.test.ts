import { describe, expect, it } from 'vitest'
import { readSpecification } from '../../../../src/documents/governance/specification.ts'

describe('a document', () => {
  it.each([
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'not encoded in UTF-8'],
    ['too many bytes', Buffer.alloc(16 * 1024 * 1024 + 1, 32), 'more than'],
    ['too many bytes of YAML', Buffer.from(`a: ${'b'.repeat(11_000_000)}`), 'send a larger one as JSON'],
    [
      'duplicate keys in JSON',
      Buffer.from('{"openapi":"3.0.0",\n "openapi":"3.1.0"}'),
      'two members of the same name (line 2, column 2)',
    ],
    [
      'duplicate keys in YAML',
      Buffer.from('openapi: 3.0.0\ninfo:\n  a: 1\n  a: 2'),
      'occurs twice in one map (line 4, column 3)',
    ],
    ['keys that differ only as YAML', Buffer.from('200: a\n"200": b'), 'occurs twice'],
    ['an anchor with an alias of itself', Buffer.from('a: &a [*a]'), 'contains an alias of itself'],
    [
      'an alias bomb',
      Buffer.from(
        [
          'a0: &a0 [x,x,x,x,x,x,x,x,x]',
          ...Array.from(
            { length: 9 },
            (_, index) => `a${index + 1}: &a${index + 1} [${Array(9).fill(`*a${index}`).join(',')}]`,
          ),
        ].join('\n'),
      ),
      'expand to too many values',
    ],
    ['very many aliases', Buffer.from(`a: &a 1\nb: [${Array(1_001).fill('*a').join(',')}]`), 'more than 1000 aliases'],
    ['deep JSON', Buffer.from('['.repeat(1_000_000)), 'levels deep'],
    ['deep YAML', Buffer.from(`a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`), 'levels deep'],
    ['YAML of 300 levels', Buffer.from(`a: ${'['.repeat(300)}${']'.repeat(300)}`), 'levels deep'],
    ['two documents', Buffer.from('a: 1\n---\nb: 2'), 'several YAML documents'],
    ['keys that are not text', Buffer.from('? [a, b]\n: 1'), 'must be texts'],
  ])('with %s is refused', async (_, bytes, why) => {
    await expect(readSpecification(bytes)).rejects.toMatchObject({
      code: 'specification_invalid',
      errors: [{ pointer: '', detail: expect.stringContaining(why) as string }],
    })
  })
})
