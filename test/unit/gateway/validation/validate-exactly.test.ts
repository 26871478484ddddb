import { describe, expect, it } from 'vitest'
import { compileResponses } from '../../../../src/gateway/validation/declared-responses.ts'
import { compileRoutePlan } from '../../../../src/documents/governance/serving/compile-route-plan.ts'
import { readSpecification } from '../../../../src/documents/governance/specification.ts'
import { openTestValidator } from './test-validator.ts'

interface Case {
  readonly name: string
  readonly schema: string
  readonly schemas?: string
  /** Bodies as JSON text, because a literal cannot have a member `__proto__`. */
  readonly accepts: readonly string[]
  readonly rejects: readonly string[]
}

const CASES: readonly Case[] = [
  {
    name: 'unevaluatedItems beside contains, which evaluates matching items only',
    schema: '{"prefixItems": [true], "contains": {"type": "string"}, "unevaluatedItems": false}',
    accepts: ['[1, "x"]', '["x"]', '[1, "x", "y"]'],
    rejects: ['[1, "x", 2]', '[1, 2]'],
  },
  {
    name: 'unevaluatedItems beside contains in subschemas',
    schema:
      '{"allOf": [{"contains": {"multipleOf": 2}}, {"contains": {"multipleOf": 3}}], ' +
      '"unevaluatedItems": {"multipleOf": 5}}',
    accepts: ['[2, 3, 4, 5, 6]'],
    rejects: ['[2, 3, 4, 7, 8]'],
  },
  {
    name: 'unevaluatedItems beside items of a subschema that rejects the value',
    schema: '{"anyOf": [{"items": {"type": "string"}}, true], ' + '"unevaluatedItems": {"type": "boolean"}}',
    accepts: ['["x"]', '[true]', '[]'],
    rejects: ['["x", 1]', '["x", true, 1]'],
  },
  {
    name: 'unevaluatedItems beside minContains 0',
    schema: '{"contains": {"const": 1}, "minContains": 0, "unevaluatedItems": {"const": 2}}',
    accepts: ['[]', '[1]', '[2]', '[1, 2]'],
    rejects: ['[3]', '[1, 3]'],
  },
  {
    name: 'unevaluatedProperties beside if without then',
    schema:
      '{"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "else": {"properties": {"b": true}}, ' +
      '"unevaluatedProperties": false}',
    accepts: ['{"a": 1}', '{"b": 1}', '{}'],
    rejects: ['{"a": 1, "b": 1}', '{"a": 2}', '{"c": 1}'],
  },
  {
    name: 'unevaluatedProperties beside if alone',
    schema: '{"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": false}',
    accepts: ['{"a": 1}', '{}'],
    rejects: ['{"a": 2}', '{"b": 1}'],
  },
  {
    name: 'unevaluatedProperties with a schema, with the pointer of the error',
    schema: '{"properties": {"a": true}, "unevaluatedProperties": {"type": "object", "required": ["x"]}}',
    accepts: ['{"a": 1, "b": {"x": 1}}'],
    rejects: ['{"b": {}}'],
  },
  {
    name: 'unevaluatedProperties through circular references',
    schema: '{"$ref": "#/components/schemas/Tree"}',
    schemas:
      '{"Tree": {"anyOf": [{"properties": {"left": {"$ref": "#/components/schemas/Tree"}}}, ' +
      '{"$ref": "#/components/schemas/Leaf"}], "unevaluatedProperties": false}, "Leaf": {"properties": {"v": true}}}',
    accepts: ['{"left": {"left": {"v": 1}}}', '{"left": {}, "v": 1}'],
    rejects: ['{"left": {"left": {"w": 1}}}', '{"w": 1}'],
  },
  {
    name: 'a property __proto__ in properties',
    schema: '{"properties": {"__proto__": {"type": "number"}}, "additionalProperties": false}',
    accepts: ['{"__proto__": 1}', '{}'],
    rejects: ['{"__proto__": "x"}', '{"__proto__": {}}', '{"x": 1}'],
  },
  {
    name: 'a property __proto__ in required',
    schema: '{"required": ["__proto__"]}',
    accepts: ['{"__proto__": null}'],
    rejects: ['{}', '{"x": 1}'],
  },
  {
    name: 'a property __proto__ in dependentRequired and dependentSchemas',
    schema:
      '{"dependentRequired": {"__proto__": ["a"], "b": ["__proto__"]}, ' +
      '"dependentSchemas": {"__proto__": {"required": ["c"]}}}',
    accepts: ['{}', '{"__proto__": 1, "a": 1, "c": 1}'],
    rejects: ['{"__proto__": 1, "c": 1}', '{"__proto__": 1, "a": 1}', '{"b": 1}'],
  },
  {
    name: 'a pattern __proto__ in patternProperties',
    schema: '{"patternProperties": {"__proto__": {"type": "number"}}, "unevaluatedProperties": false}',
    accepts: ['{"__proto__": 1, "a__proto__": 2}'],
    rejects: ['{"__proto__": "x"}', '{"a__proto__": "x"}', '{"proto": 1}'],
  },
  {
    name: 'objects in const and enum, also for values with members valueOf and toString',
    schema: '{"enum": [{"valueOf": 1}, {"a": [{"__proto__": 2}]}, "x"]}',
    accepts: ['{"valueOf": 1}', '{"a": [{"__proto__": 2}]}', '"x"'],
    rejects: ['{"valueOf": 2}', '{"toString": 1}', '{"a": [{}]}', '{"a": [{"__proto__": 2}], "valueOf": 1}'],
  },
  {
    name: 'data in const that looks like a reference',
    schema: '{"const": {"$ref": "#/components/schemas/Tree"}}',
    schemas: '{"Tree": true}',
    accepts: ['{"$ref": "#/components/schemas/Tree"}'],
    rejects: ['{"$ref": "#/components/schemas/Leaf"}'],
  },
  {
    name: 'keywords beside prefixItems, also for a shorter list',
    schema: '{"prefixItems": [{"type": "string"}], "contains": true, "uniqueItems": true, "items": {"type": "number"}}',
    accepts: ['["x"]', '["x", 1, 2]'],
    rejects: ['[]', '["x", 1, 1]', '["x", "y"]'],
  },
  {
    name: 'multipleOf in decimal, and for numbers of any size',
    schema: '{"multipleOf": 0.01}',
    accepts: ['19.99', '0.07', '-4.35', '1e21', '1e308', '0'],
    rejects: ['0.001', '19.999', '1e-300', '1e400'],
  },
  {
    name: 'multipleOf a whole number',
    schema: '{"multipleOf": 3}',
    accepts: ['3', '-9', '9e30', '0'],
    rejects: ['1', '1.5', '1e30'],
  },
  {
    name: 'numbers too large for a double, which are not null',
    schema: '{"uniqueItems": true, "items": {"enum": [null, 1, {"a": null}]}}',
    accepts: ['[null, 1, {"a": null}]'],
    rejects: ['[{"a": 1e400}]', '[1e400]'],
  },
]

const read = (json: string): Record<string, unknown> => JSON.parse(json) as Record<string, unknown>

describe('The gateway evaluates correctly what ajv does not:', () => {
  it.each(CASES)('$name', async ({ schema, schemas = '{}', accepts, rejects }) => {
    const { send } = await openTestValidator({
      openapi: '3.1.0',
      operation: { requestBody: { required: true, content: { 'application/json': { schema: read(schema) } } } },
      components: { schemas: read(schemas) },
    })
    for (const body of accepts) expect([body, send('/a', { body })]).toEqual([body, 'ok'])
    for (const body of rejects) expect([body, send('/a', { body })]).toEqual([body, expect.stringMatching(/^payload_/)])
  })

  it.each(CASES)('in responses, $name', async ({ schema, schemas = '{}', accepts, rejects }) => {
    const content = { 'application/json': { schema: read(schema) } }
    const specification = await readSpecification(
      Buffer.from(
        JSON.stringify({
          openapi: '3.1.0',
          info: { title: 'Test', version: '1.0.0' },
          paths: { '/a': { get: { responses: { 200: { description: 'ok', content } } } } },
          components: { schemas: read(schemas) },
        }),
      ),
    )
    const plan = compileRoutePlan({
      specification,
      tenant: 'acme',
      revision: 1,
      state: 'Active',
      backend: null,
      allowedScopes: [],
      memberOfProductIds: [],
    })
    const check = compileResponses(structuredClone(plan))[0]?.find(200)?.checkFor('application/json')
    for (const body of accepts) expect([body, check?.(JSON.parse(body))]).toEqual([body, null])
    for (const body of rejects) expect([body, check?.(JSON.parse(body))]).toEqual([body, expect.any(Array)])
  })

  it('reports errors of unevaluated members and items with their pointer', async () => {
    const place = async (schema: unknown, body: string): Promise<string> => {
      const content = { 'application/json': { schema: { type: 'object', properties: { in: schema } } } }
      const { send } = await openTestValidator({ openapi: '3.1.0', operation: { requestBody: { content } } })
      return send('/a', { body })
    }
    const text = { type: 'string' }
    expect(await place({ unevaluatedProperties: text }, '{"in": {"a/b": 1}}')).toMatch(/ \/in\/a~1b must be string$/)
    expect(await place({ unevaluatedItems: text }, '{"in": ["x", 1]}')).toMatch(/ \/in\/1 must be string$/)
    expect(await place({ unevaluatedProperties: false }, '{"in": {"a": 1}}')).toMatch(/ \/in has a member that is not/)
    expect(await place({ unevaluatedItems: false }, '{"in": [1]}')).toMatch(/ \/in has an item that is not declared$/)
  })

  it('ends the validation of a schema that doubles its work at every reference when the steps are used up', async () => {
    const levels = Array.from({ length: 30 }, (_, level) => {
      const $ref = `#/components/schemas/L${level}`
      return [`L${level + 1}`, { anyOf: [{ $ref }, { $ref }], unevaluatedProperties: { $ref } }] as const
    })
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/L30' } } }
    const { send } = await openTestValidator({
      openapi: '3.1.0',
      operation: { requestBody: { content } },
      components: { schemas: { L0: { properties: { a: true }, required: ['b'] }, ...Object.fromEntries(levels) } },
    })
    expect(send('/a', { body: '{"a": 1, "z": {"z": {}}}' })).toMatch(/needs more validation steps than allowed/)
  })
})

describe('A schema that the gateway cannot evaluate is refused at activation:', () => {
  it('$dynamicRef, with its pointer', async () => {
    const schema = { properties: { a: { $dynamicRef: '#node' } }, $defs: { b: { $dynamicAnchor: 'node' } } }
    const opened = openTestValidator({
      openapi: '3.1.0',
      operation: { requestBody: { content: { 'application/json': { schema } } } },
    })
    await expect(opened).rejects.toMatchObject({
      errors: [
        { pointer: expect.stringMatching(/\/schema\/properties\/a\/\$dynamicRef$/), detail: expect.any(String) },
      ],
    })
  })

  it('nested alternatives beside unevaluatedProperties, whose compilation costs the square', async () => {
    const chain = (depth: number): object =>
      depth === 0 ? {} : { anyOf: [chain(depth - 1)], unevaluatedProperties: { type: 'string' } }
    const opened = (depth: number): Promise<unknown> =>
      openTestValidator({
        openapi: '3.1.0',
        operation: { requestBody: { content: { 'application/json': { schema: chain(depth) } } } },
      })
    await expect(opened(10)).resolves.toBeDefined()
    await expect(opened(80)).rejects.toMatchObject({
      errors: [
        { pointer: expect.stringMatching(/\/schema$/), detail: expect.stringContaining('beside unevaluated keywords') },
      ],
    })
  })
})
