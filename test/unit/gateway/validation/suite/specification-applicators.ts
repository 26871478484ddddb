/** Cases written from the text of JSON Schema 2020-12 (core, 10): keywords that apply subschemas. */

import { group, type SuiteGroup } from './suite-group.ts'

const ALL = [1, 'x', true, null, {}, []]

export const APPLICATORS: readonly SuiteGroup[] = [
  // 10.2.1: logic
  group('10.2.1.1 allOf holds if all hold', { allOf: [{ minimum: 3 }, { maximum: 5 }] }, [3, 4, 5], [2, 6]),
  group('10.2.1.1 allOf beside other keywords', { minimum: 2, allOf: [{ maximum: 3 }] }, [2, 3], [1, 4]),
  group('10.2.1.1 allOf with false', { allOf: [true, false] }, [], ALL),
  group('10.2.1.2 anyOf holds if one holds', { anyOf: [{ type: 'integer' }, { minimum: 2 }] }, [1, 2.5, 3], [1.5]),
  group('10.2.1.2 anyOf with an empty schema', { anyOf: [{ type: 'number' }, {}] }, ALL, []),
  group(
    '10.2.1.3 oneOf holds if exactly one holds',
    { oneOf: [{ type: 'integer' }, { minimum: 2 }] },
    [1, 2.5],
    [3, 1.5],
  ),
  group('10.2.1.3 oneOf with two that accept all', { oneOf: [true, true, false] }, [], ALL),
  group(
    '10.2.1.3 oneOf with required',
    { oneOf: [{ required: ['a', 'b'] }, { required: ['a', 'c'] }] },
    [
      { a: 1, b: 1 },
      { a: 1, c: 1 },
    ],
    [{ a: 1 }, { a: 1, b: 1, c: 1 }],
  ),
  group('10.2.1.4 not inverts', { not: { type: 'integer' } }, ['x', 1.5], [1]),
  group('10.2.1.4 not twice', { not: { not: { type: 'integer' } } }, [1], ['x']),
  group('10.2.1.4 not with a member', { not: { required: ['a'] } }, [{ b: 1 }], [{ a: 1 }, 1]),
  // 10.2.2: conditions
  group('10.2.2.1 if alone has no effect', { if: { const: 0 } }, [0, 1, 'x'], []),
  group('10.2.2.2 then without if has no effect', { then: false }, ALL, []),
  group('10.2.2.3 else without if has no effect', { else: false }, ALL, []),
  group('10.2.2 if and then', { if: { exclusiveMaximum: 0 }, then: { minimum: -10 } }, [-1, 3, 'x'], [-100]),
  group('10.2.2 if and else', { if: { exclusiveMaximum: 0 }, else: { multipleOf: 2 } }, [-1, 4], [3]),
  group(
    '10.2.2 if true takes then',
    { if: true, then: { const: 'then' }, else: { const: 'else' } },
    ['then'],
    ['else'],
  ),
  group(
    '10.2.2 if false takes else',
    { if: false, then: { const: 'then' }, else: { const: 'else' } },
    ['else'],
    ['then'],
  ),
  group(
    '10.2.2 conditions of different parts do not mix',
    { allOf: [{ if: { exclusiveMaximum: 0 } }, { then: { minimum: -10 } }, { else: { multipleOf: 2 } }] },
    [-100, 3],
    [],
  ),
  group(
    '10.2.2.4 dependentSchemas apply if the member is there',
    { dependentSchemas: { a: { required: ['b'], properties: { b: { type: 'integer' } } } } },
    [{}, { b: 'x' }, { a: 1, b: 2 }, 'text', []],
    [{ a: 1 }, { a: 1, b: 'x' }],
  ),
  group('10.2.2.4 dependentSchemas with booleans', { dependentSchemas: { a: true, b: false } }, [{ a: 1 }], [{ b: 1 }]),
  group(
    '10.2.2.4 dependentSchemas with names to escape',
    { dependentSchemas: { "a'b": { required: ['c"d'] }, 'e\nf': { minProperties: 2 } } },
    [
      { "a'b": 1, 'c"d': 1 },
      { 'e\nf': 1, g: 1 },
    ],
    [{ "a'b": 1 }, { 'e\nf': 1 }],
  ),
  group(
    'the keyword dependencies of older drafts is unknown',
    { dependencies: { a: ['b'], c: { type: 'string' } } },
    [{ a: 1 }, { c: 1 }],
    [],
  ),
  // 10.3.1: arrays
  group(
    '10.3.1.1 prefixItems by position',
    { prefixItems: [{ type: 'integer' }, { type: 'string' }] },
    [[1, 'x'], [1], [], [1, 'x', null], { 0: 'x' }],
    [['x', 1], ['x'], [1, 2]],
  ),
  group('10.3.1.1 prefixItems with booleans', { prefixItems: [true, false] }, [[], [1]], [[1, 2]]),
  group(
    '10.3.1.1 prefixItems of a shorter list do not hide contains',
    { prefixItems: [{}], contains: {} },
    [[1]],
    [[]],
  ),
  group(
    '10.3.1.1 prefixItems of a shorter list do not hide minItems',
    { prefixItems: [{ type: 'string' }], minItems: 1, maxItems: 2 },
    [['x'], ['x', 1]],
    [[], [1], ['x', 1, 2]],
  ),
  group('10.3.1.2 items apply to all', { items: { type: 'integer' } }, [[], [1, 2], { length: 1 }], [[1, 'x']]),
  group('10.3.1.2 items false', { items: false }, [[], 'x'], [[1]]),
  group(
    '10.3.1.2 items apply behind prefixItems',
    { prefixItems: [{ type: 'string' }], items: { type: 'integer' } },
    [['x', 1, 2], ['x'], []],
    [['x', 'y'], [1]],
  ),
  group('10.3.1.2 items in items', { items: { items: { type: 'number' } } }, [[[1], []], []], [[['x']]]),
  group(
    '10.3.1.2 items do not see prefixItems of another schema',
    { allOf: [{ prefixItems: [{ minimum: 3 }] }], items: { minimum: 5 } },
    [[5, 5]],
    [
      [3, 5],
      [5, 3],
    ],
  ),
  group('10.3.1.3 contains needs one item', { contains: { minimum: 5 } }, [[1, 5], [5], 'x'], [[1, 4], []]),
  group('10.3.1.3 contains true', { contains: true }, [[1], [null]], [[]]),
  group('10.3.1.3 contains false', { contains: false }, ['x', {}], [[1], []]),
  group(
    '10.3.1.3 contains beside items',
    { items: { multipleOf: 2 }, contains: { multipleOf: 3 } },
    [
      [6, 12],
      [6, 2],
    ],
    [
      [2, 4],
      [3, 6],
      [1, 5],
    ],
  ),
  // 10.3.2: objects
  group(
    '10.3.2.1 properties by name',
    { properties: { a: { type: 'integer' }, b: { type: 'string' } } },
    [{}, { a: 1, b: 'x' }, { c: [] }, [], 12],
    [
      { a: 1, b: {} },
      { a: [], b: {} },
    ],
  ),
  group('10.3.2.1 properties with booleans', { properties: { a: true, b: false } }, [{}, { a: 1 }], [{ b: 1 }]),
  group(
    '10.3.2.1 names of the language are names like any other',
    '{"properties": {"__proto__": {"type": "number"}, "toString": {"properties": {"length": {"type": "string"}}}, ' +
      '"constructor": {"type": "number"}}}',
    ['[]', '{}', '{"__proto__": 1, "toString": {"length": "x"}, "constructor": 37}', '{"valueOf": "x"}'],
    ['{"__proto__": "x"}', '{"toString": {"length": 37}}', '{"constructor": {"length": 37}}'],
  ),
  group(
    '10.3.2.1 names to escape',
    {
      properties: {
        'a\nb': { type: 'number' },
        'c"d': { type: 'number' },
        'e\\f': { type: 'number' },
        'g\u0000': false,
      },
    },
    [{ 'a\nb': 1, 'c"d': 1, 'e\\f': 1 }],
    [{ 'a\nb': 'x' }, { 'c"d': 'x' }, { 'e\\f': 'x' }, { 'g\u0000': 1 }],
  ),
  group(
    '10.3.2.2 patternProperties apply to all names that match',
    { patternProperties: { 'f.*o': { type: 'integer' }, '^x': { maximum: 2 } } },
    [{ foo: 1 }, { foooooo: 1, xy: 2 }, { bar: 'x' }, ['foo'], 'foo'],
    [{ foo: 'x' }, { xfoo: 3 }, { xfoo: 'x' }, { xy: 3 }],
  ),
  group(
    '10.3.2.2 patternProperties with booleans',
    { patternProperties: { a: true, b: false } },
    [{ a: 1 }],
    [{ ab: 1 }],
  ),
  group(
    '10.3.2.2 patternProperties of one text are case sensitive',
    { patternProperties: { '[0-9]{2,}': { type: 'boolean' }, X_: { type: 'string' } } },
    [{ a1b: null, x_: 3 }, { a31b: true }],
    [{ a31b: null }, { a_X_: 3 }],
  ),
  group(
    '10.3.2.2 a pattern with the text __proto__',
    '{"patternProperties": {"__proto__": {"type": "number"}}}',
    ['{"__proto__": 1}', '{}'],
    ['{"__proto__": "x"}', '{"a__proto__": "x"}'],
  ),
  group(
    '10.3.2.3 additionalProperties apply to the rest',
    { properties: { a: {} }, patternProperties: { '^v': {} }, additionalProperties: { type: 'boolean' } },
    [{ a: 1 }, { vroom: 1 }, { other: true }, [], 'x'],
    [{ other: 1 }, { a: 1, other: 'x' }],
  ),
  group(
    '10.3.2.3 additionalProperties false',
    { properties: { a: {} }, additionalProperties: false },
    [{ a: 1 }, {}],
    [{ b: 1 }],
  ),
  group(
    '10.3.2.3 additionalProperties do not see properties of another schema',
    { allOf: [{ properties: { a: {} } }], additionalProperties: { type: 'boolean' } },
    [{ a: true }],
    [{ a: 1 }],
  ),
  group(
    '10.3.2.3 additionalProperties beside a property __proto__',
    '{"properties": {"__proto__": {"type": "number"}}, "additionalProperties": false}',
    ['{"__proto__": 1}'],
    ['{"__proto__": "x"}', '{"a": 1}'],
  ),
  group(
    '10.3.2.4 propertyNames',
    { propertyNames: { maxLength: 3 } },
    [{ f: {}, foo: {} }, {}, [1], 'text'],
    [{ long: 1 }],
  ),
  group(
    '10.3.2.4 propertyNames with a pattern',
    { propertyNames: { pattern: '^a+$' } },
    [{ a: 1, aa: 1 }],
    [{ aaA: 1 }],
  ),
  group('10.3.2.4 propertyNames false', { propertyNames: false }, [{}], [{ a: 1 }]),
]
