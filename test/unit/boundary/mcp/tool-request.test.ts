import { describe, expect, it } from 'vitest'
import { acceptsHeader } from '../../../../src/gateway/mcp/accepts-header.ts'
import { toToolArguments } from '../../../../src/boundary/mcp/tool-arguments.ts'
import { toToolRequest } from '../../../../src/boundary/mcp/tool-request.ts'
import type { OperationPlan, ParameterPlan } from '../../../../src/boundary/plan/route-plan.ts'

const parameter = (fields: Partial<ParameterPlan>): ParameterPlan => ({
  name: 'p',
  in: 'query',
  required: false,
  style: fields.in === 'path' || fields.in === 'header' ? 'simple' : 'form',
  explode: fields.in === undefined || fields.in === 'query',
  schema: null,
  pointer: '',
  ...fields,
})

function request(
  parameters: readonly ParameterPlan[],
  args: Record<string, unknown>,
  more: Partial<OperationPlan> = {},
) {
  const base = { operationId: 'o', method: 'POST', path: '/a', security: [], body: null, responses: [] }
  const operation: OperationPlan = { ...base, parameters, ...more }
  return toToolRequest(operation, toToolArguments(operation, acceptsHeader), args)
}

describe('the request of a tool call', () => {
  it.each([
    [{}, 'a b&c', '/a?p=a%20b%26c'],
    [{}, ['x', 'y,z'], '/a?p=x&p=y%2Cz'],
    [{ explode: false }, ['x', 'y'], '/a?p=x%2Cy'],
    [{ style: 'pipeDelimited', explode: false }, ['x', 'y'], '/a?p=x%7Cy'],
    [{ style: 'deepObject' }, { x: 1, y: [true, false] }, '/a?p%5Bx%5D=1&p%5By%5D=true&p%5By%5D=false'],
    [{}, { x: 1, y: 'z' }, '/a?x=1&y=z'],
    [{ isJson: true }, { x: [1] }, '/a?p=%7B%22x%22%3A%5B1%5D%7D'],
    [{}, null, '/a'],
  ])('has a query parameter %j with the value %j as %s', (fields, value, target) => {
    expect(request([parameter(fields as Partial<ParameterPlan>)], { p: value })).toMatchObject({ target })
  })

  it('has parameters in the path, in headers and in cookies', () => {
    const parameters = [
      parameter({ name: 'id', in: 'path', required: true }),
      parameter({ name: 'X-Tenant', in: 'header' }),
      parameter({ name: 'c', in: 'cookie' }),
    ]
    const args = { id: 'a/ä', 'X-Tenant': 't', c: 'a;b' }
    expect(request(parameters, args, { path: '/things/{id}' })).toMatchObject({
      target: '/things/a%2F%C3%A4',
      headers: { 'x-tenant': 't', cookie: 'c=a%3Bb' },
      forward: ['x-tenant', 't', 'cookie', 'c=a%3Bb'],
    })
  })

  it.each([
    ['application/json', { x: 1 }, '{"x":1}'],
    ['application/vnd.api+json', [], '[]'],
    ['application/x-www-form-urlencoded', { x: 'a&b', y: [1, 2] }, 'x=a%26b&y=1&y=2'],
    ['text/csv', 'a,b', 'a,b'],
  ])('has a body of %s', (mediaType, value, text) => {
    const body = { required: true, bytesMax: 100, content: { [mediaType]: null } }
    const written = request([], { body: value }, { body })
    expect(written).toMatchObject({ contentType: mediaType, headers: { 'content-type': mediaType } })
    expect('body' in written && written.body?.toString()).toBe(text)
  })

  it.each([
    ['an unknown argument', [], { q: 1 }, '/q'],
    ['a line break in a header', [parameter({ name: 'h', in: 'header' })], { h: 'a\r\nX-Evil: 1' }, '/h'],
    ['half a surrogate pair', [parameter({})], { p: '\ud800' }, '/p'],
    ['objects in a list', [parameter({})], { p: [{}] }, '/p'],
    ['an argument named __proto__', [], JSON.parse('{"__proto__":{"x":1}}') as Record<string, unknown>, '/__proto__'],
  ])('is refused for %s', (_, parameters, args, pointer) => {
    expect(request(parameters, args)).toMatchObject({ faults: [{ pointer }] })
  })

  const long = 'k'.repeat(1_000_000)
  const many = Array(500_000).fill(1)
  const form = { required: true, bytesMax: 100, content: { 'application/x-www-form-urlencoded': null } }

  it.each([
    ['a long list', [parameter({})], { p: many }, '/p'],
    ['a long list in an object', [parameter({ style: 'deepObject' })], { p: { x: many } }, '/p'],
    ['a long list in a header', [parameter({ name: 'h', in: 'header' })], { h: many }, '/h'],
    ['a long cookie', [parameter({ in: 'cookie' })], { p: 'x'.repeat(16_384) }, '/p'],
    ['long cookies', ['a', 'b'].map((name) => parameter({ name, in: 'cookie' })), toLong('a', 'b'), '/b'],
    // The name would be repeated for each item: gigabytes.
    ['a long name of a list', [parameter({})], { p: { [long]: many.slice(0, 8_000) } }, '/p'],
    ['a long deep name', [parameter({ style: 'deepObject' })], { p: { [long]: many.slice(0, 8_000) } }, '/p'],
    ['a long list in a form', [], { body: { x: many } }, '/body'],
    ['a long name in a form', [], { body: { [long]: many } }, '/body'],
  ])('is refused for %s before it is written', (_, parameters, args, pointer) => {
    expect(request(parameters, args, { body: form })).toMatchObject({ faults: [{ pointer }] })
  })

  it('is refused without a value in the path, and if it is too long', () => {
    const path = [parameter({ name: 'id', in: 'path', required: true })]
    expect(request(path, {}, { path: '/{id}' })).toEqual({ faults: [{ pointer: '/id', detail: 'is required' }] })
    expect(request([parameter({})], { p: 'x'.repeat(20_000) })).toHaveProperty('faults')
  })

  it('never has reserved headers as arguments', () => {
    const names = ['X-Consumer-Id', 'Host', 'x-api-key', 'Connection', 'X-Forwarded-For']
    const operation = { parameters: names.map((name) => parameter({ name, in: 'header' })), body: null }
    const { parameters } = toToolArguments(operation as unknown as OperationPlan, acceptsHeader)
    expect([...parameters.keys()]).toEqual([])
  })
})

function toLong(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, 'x'.repeat(10_000)]))
}
