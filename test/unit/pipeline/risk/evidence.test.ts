import { expect, it } from 'vitest'
import { createEvidence } from '../../../../src/pipeline/risk/evidence.ts'

const call = (status: number, operation = 'read') => ({ status, reason: 'refused', operation, requestId: `r${status}` })

it('counts evidence by status, reason and operation, with the latest five calls', () => {
  const evidence = createEvidence()
  for (const status of [403, 403, 429, 500, 403, 0]) evidence.add(call(status))
  expect(evidence.show()).toEqual({
    total: 6,
    statuses: { 403: 3, 429: 1, 500: 1 },
    reasons: { refused: 6 },
    operations: { read: 6 },
    requestIds: ['r403', 'r429', 'r500', 'r403', 'r0'],
  })
  const again = createEvidence(evidence.show())
  again.add(call(429))
  expect(again.show()).toMatchObject({ total: 7, statuses: { 403: 3, 429: 2, 500: 1 } })
})

it('counts the calls that came over MCP', () => {
  const evidence = createEvidence()
  evidence.add(call(429))
  expect(evidence.show()).not.toHaveProperty('channels')
  evidence.add({ ...call(429), channel: 'mcp' })
  const again = createEvidence(evidence.show())
  again.add({ ...call(429), channel: 'mcp' })
  expect(again.show()).toMatchObject({ total: 3, channels: { mcp: 2 } })
})

it('counts evidence names above the first fifty together', () => {
  const evidence = createEvidence()
  for (let index = 0; index < 80; index++) evidence.add(call(404, `operation ${index}`))
  const { operations } = evidence.show()
  expect([Object.keys(operations).length, operations['others']]).toEqual([51, 30])
})
