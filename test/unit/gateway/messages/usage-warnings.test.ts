import { expect, it } from 'vitest'
import { createUsageWarnings } from '../../../../src/gateway/messages/usage-warnings.ts'
import type { ToMainThread } from '../../../../src/gateway/messages/messages.ts'
import { attribution } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

it('counts each response whose units are unknown, and logs an operation once in ten seconds', async () => {
  const clock = createFakeClock(0)
  const counts: string[] = []
  const sent: ToMainThread[] = []
  const warn = createUsageWarnings({
    clock,
    count: (reason) => void counts.push(reason),
    send: (message) => void sent.push(message),
  })
  const [read, write] = ['read', 'write'].map((operation) => attribution({ api: 'a-v1', operation }))
  for (let call = 0; call < 3; call++) warn(read!, 'missing')
  warn(write!, 'missing')
  await clock.advance(10_000)
  warn(read!, 'missing')
  expect(counts).toEqual(Array.from({ length: 5 }, () => 'units_unknown'))
  expect(sent.map((message) => 'detail' in message && message.detail)).toEqual([
    'missing: a-v1 read',
    'missing: a-v1 write',
    'missing: a-v1 read (2 more since the last)',
  ])
  expect(sent.every((message) => message.type === 'log' && message.level === 'warn')).toBe(true)
})
