import { expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import type { TransformPlan } from '../../../../src/boundary/plan/transform-plan.ts'
import { toTransform } from '../../../../src/control/publishing/transform-input.ts'

function pointerOf(input: TransformPlan): string | undefined {
  try {
    toTransform(input)
    return undefined
  } catch (cause) {
    return (cause as Problem).errors[0]?.pointer
  }
}

const field = (name: string) => ({ name, value: '1' })

it('accepts changes of both directions and of the path', () => {
  const input = {
    request: { remove: ['X-A'], set: [field('X-B')], add: [field('X-B'), field('X-B')] },
    response: { remove: ['Server'], set: [field('Content-Security-Policy')] },
    basePath: { from: '/v1/pay', to: '/' },
  }
  expect(toTransform(input)).toBe(input)
})

it.each([{}, { request: {} }, { request: { add: [] }, response: { remove: [] } }])('reads %j as none', (input) => {
  expect(toTransform(input)).toBeNull()
})

it.each([
  ['/transform/request/remove/1', { request: { remove: ['X-A', 'Host'] } }],
  ['/transform/request/set/0/name', { request: { set: [field('Authorization')] } }],
  ['/transform/request/add/0/name', { request: { add: [field('x_forwarded_for')] } }],
  ['/transform/request/set/1/name', { request: { set: [field('X-A'), field('x_a')] } }],
  ['/transform/response/set/0/name', { response: { set: [field('RateLimit')] } }],
  ['/transform/response/remove/0', { response: { remove: ['Access-Control-Allow-Origin'] } }],
])('refuses the name at %s', (pointer, input) => {
  expect(pointerOf(input)).toBe(pointer)
})

it.each([
  ...[
    '',
    'v1',
    '//',
    '/v1/',
    '/v1//a',
    '/.',
    '/..',
    '/a/../b',
    '/a/..',
    '/a%2fb',
    '/a?b',
    '/a#b',
    '/a\\b',
    '/a;b',
    '/a b',
    '/ä',
  ],
  ...['/v1\r\nX: 1', '/a/./b', '/{id}'],
])('refuses %j as a base path', (path) => {
  expect(pointerOf({ basePath: { from: path, to: '/' } })).toBe('/transform/basePath/from')
  expect(pointerOf({ basePath: { from: '/', to: path } })).toBe('/transform/basePath/to')
})

it.each(['/', '/a', '/.well-known/a', '/a...', '/...', "/a-._~!$&'()*+,=:@"])('accepts %j as a base path', (path) => {
  expect(pointerOf({ basePath: { from: path, to: path } })).toBeUndefined()
})
