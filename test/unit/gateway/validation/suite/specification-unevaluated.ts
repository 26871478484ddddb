/** Cases written from the text of JSON Schema 2020-12 (core, 11): unevaluatedItems and unevaluatedProperties. */

import { group, type SuiteGroup } from './suite-group.ts'

export const UNEVALUATED: readonly SuiteGroup[] = [
  group('11.2 unevaluatedItems true', { unevaluatedItems: true }, [[], [1], 'x'], []),
  group('11.2 unevaluatedItems false', { unevaluatedItems: false }, [[], {}, 'x'], [[1]]),
  group('11.2 unevaluatedItems with a schema', { unevaluatedItems: { type: 'string' } }, [[], ['x']], [[1]]),
  group('11.2 behind prefixItems', { prefixItems: [{}], unevaluatedItems: false }, [[], [1]], [[1, 2]]),
  group('11.2 behind items', { items: { type: 'string' }, unevaluatedItems: false }, [['x', 'y']], [[1]]),
  group(
    '11.2 behind items of a subschema',
    { unevaluatedItems: { type: 'boolean' }, anyOf: [{ items: { type: 'string' } }, true] },
    [[true, false], ['x', 'y'], []],
    [['yes', false], [1]],
  ),
  group(
    '11.2 behind prefixItems of allOf',
    {
      prefixItems: [{ type: 'string' }],
      allOf: [{ prefixItems: [true, { type: 'number' }] }],
      unevaluatedItems: false,
    },
    [['x', 1], ['x']],
    [
      ['x', 1, 2],
      ['x', 'y'],
    ],
  ),
  group(
    '11.2 behind an unevaluatedItems of allOf',
    { allOf: [{ unevaluatedItems: { type: 'number' } }], unevaluatedItems: false },
    [[1], []],
    [['x']],
  ),
  group(
    '11.2 behind anyOf',
    {
      prefixItems: [{ const: 'a' }],
      anyOf: [{ prefixItems: [true, { const: 'b' }] }, { prefixItems: [true, true, { const: 'c' }] }],
      unevaluatedItems: false,
    },
    [['a', 'b'], ['a', 'b', 'c'], ['a', 1, 'c'], ['a']],
    [
      ['a', 'b', 1],
      ['a', 1, 2],
      ['a', 'b', 'c', 'd'],
    ],
  ),
  group(
    '11.2 behind oneOf',
    {
      prefixItems: [{ const: 'a' }],
      oneOf: [{ prefixItems: [true, { const: 'b' }] }, { prefixItems: [true, { const: 'c' }] }],
      unevaluatedItems: false,
    },
    [
      ['a', 'b'],
      ['a', 'c'],
    ],
    [
      ['a', 'b', 1],
      ['a', 'd'],
    ],
  ),
  group(
    '11.2 not behind not',
    { prefixItems: [true], not: { not: { prefixItems: [true, { const: 'b' }] } }, unevaluatedItems: false },
    [['a']],
    [['a', 'b']],
  ),
  group(
    '11.2 behind if, then and else',
    {
      if: { prefixItems: [{ const: 1 }] },
      then: { prefixItems: [true, { const: 2 }] },
      else: { prefixItems: [true, true, true] },
      unevaluatedItems: false,
    },
    [[1, 2], [1], [0, 1, 2]],
    [
      [1, 2, 3],
      [0, 1, 2, 3],
      [1, 3],
    ],
  ),
  group(
    '11.2 behind if alone',
    { if: { prefixItems: [{ const: 1 }] }, unevaluatedItems: false },
    [[1], []],
    [[2], [1, 2]],
  ),
  group(
    '11.2 behind a reference',
    { $ref: '#/$defs/a', unevaluatedItems: false, $defs: { a: { prefixItems: [{ type: 'string' }] } } },
    [['x']],
    [['x', 1], [1]],
  ),
  group('11.2 not behind cousins', { allOf: [{ prefixItems: [true] }, { unevaluatedItems: false }] }, [[]], [[1]]),
  group(
    '11.2 items of an item do not count for its list',
    { prefixItems: [{ items: { type: 'string' } }], unevaluatedItems: false },
    [[['x']], []],
    [[['x'], 1], [[1]]],
  ),
  group(
    '11.2 behind contains',
    { prefixItems: [true], contains: { type: 'string' }, unevaluatedItems: false },
    [[1, 'x'], ['x'], [1, 'x', 'y']],
    [
      [1, 2],
      [1, 2, 'x'],
    ],
  ),
  group(
    '11.2 behind several contains',
    { allOf: [{ contains: { multipleOf: 2 } }, { contains: { multipleOf: 3 } }], unevaluatedItems: { multipleOf: 5 } },
    [[2, 3, 4, 5, 6]],
    [[2, 3, 4, 7, 8]],
  ),
  group(
    '11.2 behind contains of conditions',
    {
      if: { contains: { const: 'a' } },
      then: { if: { contains: { const: 'b' } }, then: { if: { contains: { const: 'c' } } } },
      unevaluatedItems: false,
    },
    [[], ['a', 'a'], ['a', 'b', 'a'], ['c', 'a', 'b', 'a']],
    [['b'], ['c'], ['b', 'c'], ['a', 'c'], ['a', 'b', 'c', 'd']],
  ),
  group(
    '11.2 behind contains with minContains 0',
    { contains: { type: 'string' }, minContains: 0, unevaluatedItems: false },
    [[], ['x', 'y']],
    [[1], ['x', 1]],
  ),
  group('11.3 unevaluatedProperties true', { unevaluatedProperties: true }, [{}, { a: 1 }, 1], []),
  group('11.3 unevaluatedProperties false', { unevaluatedProperties: false }, [{}, [], 'x'], [{ a: 1 }]),
  group(
    '11.3 unevaluatedProperties with a schema',
    { properties: { a: {} }, unevaluatedProperties: { minLength: 3, type: 'string' } },
    [{ a: 1 }, { b: 'foo' }],
    [{ b: 'fo' }, { b: 1 }],
  ),
  group(
    '11.3 behind properties and patternProperties',
    { properties: { a: {} }, patternProperties: { '^v': {} }, unevaluatedProperties: false },
    [{ a: 1, vroom: 1 }],
    [{ b: 1 }],
  ),
  group(
    '11.3 behind additionalProperties',
    { properties: { a: {} }, additionalProperties: { type: 'number' }, unevaluatedProperties: false },
    [{ a: 'x', b: 1 }],
    [{ b: 'x' }],
  ),
  group(
    '11.3 behind allOf',
    {
      properties: { a: {} },
      allOf: [{ properties: { b: {} } }, { additionalProperties: true }],
      unevaluatedProperties: false,
    },
    [{ a: 1, b: 1, c: 1 }],
    [],
  ),
  group(
    '11.3 behind an unevaluatedProperties of allOf',
    { allOf: [{ properties: { a: {} }, unevaluatedProperties: { type: 'number' } }], unevaluatedProperties: false },
    [{ a: 'x', b: 1 }],
    [{ b: 'x' }],
  ),
  group(
    '11.3 behind anyOf',
    {
      properties: { a: {} },
      anyOf: [
        { properties: { b: { const: 'b' } }, required: ['b'] },
        { properties: { c: { const: 'c' } }, required: ['c'] },
      ],
      unevaluatedProperties: false,
    },
    [
      { a: 1, b: 'b' },
      { b: 'b', c: 'c' },
    ],
    [{ b: 'b', c: 'x' }, { b: 'b', d: 1 }, { a: 1 }],
  ),
  group(
    '11.3 behind oneOf',
    {
      oneOf: [
        { properties: { b: {} }, required: ['b'] },
        { properties: { c: {} }, required: ['c'] },
      ],
      unevaluatedProperties: false,
    },
    [{ b: 1 }, { c: 1 }],
    [
      { b: 1, c: 1 },
      { b: 1, d: 1 },
    ],
  ),
  group(
    '11.3 not behind not',
    { not: { not: { properties: { a: {} } } }, unevaluatedProperties: false },
    [{}],
    [{ a: 1 }],
  ),
  group(
    '11.3 behind if, then and else',
    {
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      then: { properties: { b: {} } },
      else: { properties: { c: {} } },
      unevaluatedProperties: false,
    },
    [{ a: 1, b: 1 }, { c: 1 }],
    [{ a: 1, c: 1 }, { a: 2, c: 1 }, { b: 1 }],
  ),
  group(
    '11.3 behind if without then',
    {
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      else: { properties: { c: {} } },
      unevaluatedProperties: false,
    },
    [{ a: 1 }, { c: 1 }, {}],
    [{ a: 1, c: 1 }, { a: 2 }],
  ),
  group(
    '11.3 behind if without else',
    {
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      then: { properties: { b: {} } },
      unevaluatedProperties: false,
    },
    [{ a: 1, b: 1 }, {}],
    [{ a: 2 }, { b: 1 }],
  ),
  group(
    '11.3 behind dependentSchemas',
    { properties: { a: {} }, dependentSchemas: { a: { properties: { b: {} } } }, unevaluatedProperties: false },
    [{ a: 1, b: 1 }, {}],
    [{ b: 1 }, { a: 1, c: 1 }],
  ),
  group(
    '11.3 behind a reference that stands before or behind it',
    { $ref: '#/$defs/a', properties: { x: {} }, unevaluatedProperties: false, $defs: { a: { properties: { b: {} } } } },
    [{ x: 1, b: 1 }],
    [{ c: 1 }],
  ),
  group(
    '11.3 not behind cousins',
    { allOf: [{ properties: { a: {} } }, { unevaluatedProperties: false }] },
    [{}],
    [{ a: 1 }],
  ),
  group(
    '11.3 false in a subschema rejects what a branch does not evaluate',
    { properties: { a: {} }, anyOf: [{ unevaluatedProperties: false }, { required: ['b'] }] },
    [{}, { a: 1, b: 1 }],
    [{ a: 1 }],
  ),
  group(
    '11.3 through references that go in a circle',
    {
      properties: { root: { $ref: '#/$defs/tree' } },
      $defs: {
        tree: {
          allOf: [{ properties: { left: { $ref: '#/$defs/tree' } } }],
          anyOf: [{ properties: { right: { $ref: '#/$defs/tree' } } }, { required: ['none'] }],
          unevaluatedProperties: false,
        },
      },
    },
    [{ root: {} }, { root: { left: { right: {} } } }],
    [{ root: { other: 1 } }, { root: { left: { right: { other: 1 } } } }],
  ),
  group(
    '11.3 not by propertyNames',
    { propertyNames: { maxLength: 1 }, unevaluatedProperties: false },
    [{}],
    [{ a: 1 }],
  ),
  group(
    '11.3 a property __proto__',
    '{"properties": {"__proto__": {"type": "number"}}, "unevaluatedProperties": false}',
    ['{"__proto__": 1}'],
    ['{"__proto__": "x"}', '{"a": 1}'],
  ),
]
