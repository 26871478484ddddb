import { expect, it } from 'vitest'
import { createMessageLimit } from '../../../../src/gateway/mcp/message-limit.ts'

it('admits a number of messages of each credential per minute', () => {
  const limit = createMessageLimit(2)
  expect([limit.take('a', 0), limit.take('a', 1_000), limit.take('a', 30_000)]).toEqual([0, 0, 30])
  expect(limit.take('b', 30_000)).toBe(0)
  expect(limit.take('a', 60_000)).toBe(0)
})
