import { expect, it } from 'vitest'
import { isSameValue } from '../../../../../src/interfaces/cli/configuration/same-value.ts'

const SET = { request: { set: [{ name: 'X-A', value: '' }] } }

it.each<[unknown, unknown]>([
  [undefined, { request: { remove: [] } }],
  [undefined, { request: {}, response: { set: [], add: null }, basePath: null }],
  [undefined, null],
  [SET, { ...SET, response: { remove: [] } }],
  [{ request: { ...SET.request, remove: [] } }, SET],
])('takes a transformation without its empty parts: %j is %j', (before, after) => {
  expect(isSameValue('api', 'transform', before, after)).toBe(true)
})

it.each<[unknown, unknown]>([
  [SET, { request: { set: [] } }],
  [SET, null],
  [undefined, SET],
  [SET, { request: { set: [{ name: 'X-A' }] } }],
])('tells transformations apart: %j is not %j', (before, after) => {
  expect(isSameValue('api', 'transform', before, after)).toBe(false)
})
