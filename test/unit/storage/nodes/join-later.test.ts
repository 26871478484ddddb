import { describe, expect, it } from 'vitest'
import { joinLater } from '../../../../src/storage/nodes/join-later.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

function open(failures: number) {
  const clock = createFakeClock(1_000_000)
  const seen: string[] = []
  let attempts = 0
  const stop = joinLater({
    clock,
    async join() {
      if (++attempts <= failures) throw new Error(`attempt ${attempts}`)
    },
    onJoined: () => void seen.push('joined'),
    onFailed: (cause) => void seen.push((cause as Error).message),
  })
  return { clock, seen, stop }
}

describe('a node that joins later', () => {
  it('tries until it has joined, and no more afterwards', async () => {
    const { clock, seen } = open(2)
    await clock.advance(1_500)
    expect(seen).toEqual(['attempt 1', 'attempt 2', 'joined'])
    expect(clock.pending).toBe(0)
  })

  it('ends its attempts when it stops', async () => {
    const { clock, seen, stop } = open(Infinity)
    await clock.advance(500)
    await stop()
    await clock.advance(10_000)
    expect(seen).toEqual(['attempt 1'])
    expect(clock.pending).toBe(0)
  })
})
