/** Cases written from the text of JSON Schema 2020-12 (core, 4 to 9): booleans, equality, references. */

import { group, type SuiteGroup } from './suite-group.ts'

const ALL = [1, 'x', true, null, {}, []]

export const REFERENCES: readonly SuiteGroup[] = [
  // 4.3.2: boolean schemas
  group('4.3.2 true accepts every value', true, ALL, []),
  group('4.3.2 false rejects every value', false, [], ALL),
  group('4.3.1 an empty schema accepts every value', {}, ALL, []),
  group('4.3.1 unknown keywords are ignored', { 'x-unknown': false, unknown: { type: 'string' } }, ALL, []),
  // 4.2.2: equality of instances
  group('4.2.2 an object differs from a list', { const: {} }, [{}], [[], null, 0, false]),
  group('4.2.2 the order of members does not matter', { const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }]),
  group('4.2.2 the order of items matters', { const: [1, 2] }, [[1, 2]], [[2, 1], [1], [1, 2, 3]]),
  group('4.2.2 false is not 0, true is not 1', { enum: [false, 1] }, [false, 1], [0, true, '1', null]),
  group('4.2.2 in lists false is not 0', { const: [false] }, [[false]], [[0], [[false]]]),
  group('4.2.2 in objects true is not 1', { const: { a: true } }, [{ a: true }], [{ a: 1 }]),
  // 8.2.3: references
  group(
    '8.2.3.1 $ref leads to a schema by JSON pointer',
    { properties: { a: { $ref: '#/$defs/text' } }, $defs: { text: { type: 'string' } } },
    [{ a: 'x' }, { a: '' }, { b: 1 }],
    [{ a: 1 }, { a: null }],
  ),
  group(
    '8.2.3.1 $ref applies beside other keywords',
    { properties: { a: { $ref: '#/$defs/list', maxItems: 1 } }, $defs: { list: { type: 'array' } } },
    [{ a: [] }, { a: [1] }],
    [{ a: [1, 2] }, { a: 'x' }],
  ),
  group(
    '8.2.3.1 $ref to the root is recursive',
    { properties: { next: { $ref: '#' } }, additionalProperties: false },
    [{}, { next: {} }, { next: { next: {} } }],
    [{ other: 1 }, { next: { other: 1 } }, { next: { next: { other: 1 } } }],
  ),
  group(
    '8.2.3.1 $ref with an escaped pointer',
    {
      properties: {
        tilde: { $ref: '#/$defs/a~0b' },
        slash: { $ref: '#/$defs/a~1b' },
        percent: { $ref: '#/$defs/a%25b' },
      },
      $defs: { 'a~b': { type: 'integer' }, 'a/b': { type: 'integer' }, 'a%b': { type: 'integer' } },
    },
    [{ tilde: 1, slash: 1, percent: 1 }],
    [{ tilde: 'x' }, { slash: 'x' }, { percent: 'x' }],
  ),
  group(
    '8.2.3.1 $ref through several references',
    {
      properties: { p: { $ref: '#/$defs/c' } },
      $defs: { a: { type: 'integer' }, b: { $ref: '#/$defs/a' }, c: { $ref: '#/$defs/b' } },
    },
    [{ p: 5 }],
    [{ p: 'a' }, { p: 1.5 }],
  ),
  group(
    '8.2.3.1 $ref to what lies below another $ref',
    { $ref: '#/$defs/c', $defs: { a: { type: 'integer' }, c: { $ref: '#/$defs/a' } } },
    [5],
    ['a', 1.5],
  ),
  group('8.2.3.1 $ref to a boolean schema', { $ref: '#/$defs/no', $defs: { no: false } }, [], ['x', 1]),
  group(
    '8.2.3.1 a property named $ref is no reference',
    { properties: { $ref: { type: 'string' } } },
    [{ $ref: 'a' }],
    [{ $ref: 2 }],
  ),
  group(
    '8.2.3.1 $ref in the data of const is no reference',
    { const: { $ref: '#/$defs/a' }, $defs: { a: { type: 'integer' } } },
    [{ $ref: '#/$defs/a' }],
    [12],
  ),
  group('8.2.2 $ref to an $anchor', { $ref: '#here', $defs: { a: { $anchor: 'here', type: 'integer' } } }, [1], ['x']),
  group(
    '8.2.1 $ref to the $id of an embedded schema',
    { $ref: 'https://example.com/a', $defs: { a: { $id: 'https://example.com/a', type: 'integer' } } },
    [1],
    ['x'],
  ),
  group(
    '8.2.1 $id changes the base of the references below it',
    {
      properties: { p: { $ref: '#/$defs/inner' } },
      $defs: {
        inner: { $id: 'https://example.com/b', $ref: '#/$defs/deep', $defs: { deep: { type: 'integer' } } },
      },
    },
    [{ p: 1 }],
    [{ p: 'x' }],
  ),
  group('9.2 $ref to another document', { $ref: 'https://json-schema.org/draft/2020-12/schema' }, [{}], [{ type: 1 }]),
  group(
    '8.2.3.2 $dynamicRef to a $dynamicAnchor',
    { items: { $dynamicRef: '#item' }, $defs: { a: { $dynamicAnchor: 'item', type: 'string' } } },
    [['x']],
    [[1]],
  ),
]
