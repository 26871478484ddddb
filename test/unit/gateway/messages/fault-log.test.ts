import { describe, expect, it } from 'vitest'
import { createFaultLog } from '../../../../src/gateway/messages/fault-log.ts'
import type { ToMainThread } from '../../../../src/gateway/messages/messages.ts'

describe('the fault log', () => {
  it('sends a message at most once in ten seconds, with the number of repetitions and the stack', () => {
    let nowMs = 0
    const sent: ToMainThread[] = []
    const faults = createFaultLog({ clock: { nowMs: () => nowMs }, send: (message) => sent.push(message) })
    for (let count = 0; count < 1_000; count++) faults.report('a call failed', new Error('why'))
    faults.report('another', 'text')
    nowMs = 10_000
    faults.report('a call failed', new Error('why'))

    expect(sent).toHaveLength(3)
    expect(sent[0]).toMatchObject({
      level: 'error',
      message: 'a call failed',
      detail: expect.stringContaining('why\n'),
    })
    expect(sent[2]).toMatchObject({ detail: expect.stringContaining('(999 more since the last)') })
  })
})
