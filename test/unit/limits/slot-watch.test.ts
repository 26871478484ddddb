import { describe, expect, it } from 'vitest'
import { SlotWatch } from '../../../src/limits/slot-watch.ts'
import { ADMITTED, LACKING } from '../../../src/limits/limiter.ts'
import {
  createLeasedLimits,
  createTestGrantor,
  openTestKeeper,
  type LeaseTestKeeper,
} from '../../fixtures/lease-keeper.ts'
import type { FakeClock } from '../../fixtures/fake-clock.ts'
import { OPERATIONS, planOf } from '../../fixtures/test-limits.ts'

const NOON_MS = Date.parse('2026-03-04T12:00:00Z')
const MINUTE = 60_000
const ONE = planOf({ limits: [{ name: 'one', concurrent: 1 }] })

/** One node with a watch of its calls. */
function openNode(keeper: LeaseTestKeeper, clock: FakeClock) {
  const { memory, limiters } = createLeasedLimits(keeper, clock)
  const [limiter] = limiters as [(typeof limiters)[0]]
  const sla = limiter.compile(ONE, OPERATIONS)
  const block = limiter.open(memory.blockFor('sub', ONE)!)
  const watch = new SlotWatch<{ end(): void }>({
    thread: 0,
    end: (call) => call.end(),
    clock,
    monotonicMs: clock.nowMs,
    onFault: () => expect.unreachable(),
  })
  const take = (): boolean => limiter.take(sla, block, 0, clock.nowMs()) === ADMITTED
  return {
    watch,
    /** Admits a call, after one exchange if the node has no lease. */
    async admit(): Promise<boolean> {
      if (take()) return true
      if (limiter.verdict.refusedBy !== LACKING) return false
      await memory.refill(limiter.verdict.lacking.map(([id, amount]) => [id, amount, amount]))
      return take()
    },
    /** Watches the call that was admitted last, which ends by `end`. */
    hold(onEnd: () => void): void {
      const { gauge } = limiter.verdict
      const call = {
        end() {
          limiter.release(block, gauge)
          onEnd()
        },
      }
      watch.enter(call, block, gauge)
    },
  }
}

describe('A call that holds a slot for longer than ten minutes', () => {
  it('runs on while its node reaches Redis, and ends before another node is granted its slot', async () => {
    let isCutOff = false
    const grantor = createTestGrantor(NOON_MS, (message) => {
      if (isCutOff && message.type === 'request' && message.node === 'a') throw new Error('lost')
    })
    const { clock } = grantor
    const first = openNode(await openTestKeeper(grantor, 'a'), clock)
    const second = openNode(await openTestKeeper(grantor, 'b'), clock)
    await clock.advance(1_000)
    let endedMs = Infinity
    expect(await first.admit()).toBe(true)
    first.hold(() => (endedMs = clock.nowMs()))
    await clock.advance(15 * MINUTE)
    expect([endedMs, await second.admit()]).toEqual([Infinity, false])

    isCutOff = true
    const cutOffMs = clock.nowMs()
    let grantedMs = Infinity
    for (let elapsed = 0; elapsed < 660 && grantedMs === Infinity; elapsed++) {
      await clock.advance(1_000)
      if (await second.admit()) grantedMs = clock.nowMs()
    }
    expect(endedMs).toBeLessThan(grantedMs)
    expect(endedMs - cutOffMs).toBeGreaterThan(9 * MINUTE)
    expect(grantedMs - cutOffMs).toBeLessThan(11 * MINUTE)
  })
})
