import { expect, it } from 'vitest'
import { rowsOf } from '../../../../../../src/interfaces/console/views/apis/transform-rows.ts'

it('The changes of headers are those of requests, then those of responses, each in their order', () => {
  const rows = rowsOf({
    response: { set: [{ name: 'Server', value: 'x' }] },
    request: { add: [{ name: 'X-B', value: '2' }], remove: ['X-Debug'] },
  })
  expect(rows).toEqual([
    { direction: 'request', step: 'remove', name: 'X-Debug', value: '' },
    { direction: 'request', step: 'add', name: 'X-B', value: '2' },
    { direction: 'response', step: 'set', name: 'Server', value: 'x' },
  ])
  expect(rowsOf({})).toEqual([])
})
