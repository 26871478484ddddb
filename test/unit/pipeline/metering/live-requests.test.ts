import { describe, expect, it } from 'vitest'
import { createLiveRequests } from '../../../../src/pipeline/metering/live-requests.ts'
import type { RequestLogMode } from '../../../../src/pipeline/metering/request-log.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import type { RequestFilter } from '../../../../src/storage/store/request-store.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'

function open(mode: RequestLogMode = 'all', perSecondMax = 100) {
  const clock = createFakeClock(START_MS)
  const live = createLiveRequests({ mode, clock, perSecondMax })
  const received: string[] = []
  const skipped: number[] = []
  const subscribe = (filter: Partial<RequestFilter> = {}) =>
    live.subscribe(
      { tenant: 'acme', ...filter },
      { onRequest: ({ outcome }) => received.push(outcome), onSkipped: (count) => skipped.push(count) },
    )
  const add = (calls: readonly CallRecord[]): void => {
    const spool = createMemorySpool()
    spool.append('one', calls)
    spool.read({}, live.add)
  }
  return { clock, subscribe, add, received, skipped }
}

const by = attribution({ revision: 3 })
const mixed = [
  call(by, START_MS, 'served'),
  call(by, START_MS, 'rate_limited', { status: 429 }),
  call(by, START_MS, 'undeclared_status'),
]

describe('live requests', () => {
  it.each([
    ['off', []],
    ['refused', ['rate_limited']],
    ['all', ['served', 'rate_limited']],
  ] as const)('in mode %s are calls with these outcomes, and no notes', (mode, outcomes) => {
    const { subscribe, add, received } = open(mode)
    subscribe()
    add(mixed)
    expect(received).toEqual(outcomes)
  })

  it('of records without a revision have the revision 0', () => {
    const { subscribe, add, received } = open()
    subscribe({ revision: 0 })
    add([call(attribution(), START_MS)])
    expect(received).toEqual(['served'])
  })

  it.each([
    [{ tenant: 'other' }, 0],
    [{ api: 'other-v1' }, 0],
    [{ customer: 'con_1' }, 2],
    [{ customer: '' }, 0],
    [{ outcome: 'served' }, 1],
    [{ isRefused: true }, 1],
    [{ revision: 3 }, 2],
    [{ revision: 4 }, 0],
    [{ revision: 0 }, 0],
  ] as const)('reach a subscriber with the filter %j', (filter, count) => {
    const { subscribe, add, received } = open()
    subscribe(filter)
    add(mixed)
    expect(received).toHaveLength(count)
  })

  it('are limited per second and subscriber, and the others are counted', async () => {
    const { clock, subscribe, add, received, skipped } = open('all', 2)
    subscribe()
    add(Array.from({ length: 5 }, () => call(by, START_MS, 'served')))
    expect([received.length, skipped]).toEqual([2, []])
    await clock.advance(1_000)
    expect(skipped).toEqual([3])
    add([call(by, START_MS, 'served')])
    await clock.advance(1_000)
    expect([received.length, skipped]).toEqual([3, [3]])
  })

  it('leave out calls that a start finds in the spool', () => {
    const { subscribe, add, received } = open()
    subscribe()
    add([call(by, START_MS - 61_000, 'served')])
    expect(received).toEqual([])
  })

  it('end with the subscription', async () => {
    const { clock, subscribe, add, received, skipped } = open('all', 1)
    const stop = subscribe()
    add(mixed)
    stop()
    add(mixed)
    await clock.advance(5_000)
    expect([received, skipped]).toEqual([['served'], []])
  })
})
