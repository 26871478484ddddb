import { describe, expect, it } from 'vitest'
import type { LeaseNeed } from '../../../../src/gateway/limits/lease-book.ts'
import { createLeaseWaits } from '../../../../src/gateway/limits/lease-waits.ts'
import type { Block } from '../../../../src/gateway/limits/limiter.ts'
import { settled } from '../../../fixtures/fake-clock.ts'

const BLOCK = {} as Block
const OTHER = {} as Block

function openWaits() {
  const requests: (LeaseNeed & PromiseWithResolvers<boolean>)[] = []
  const waits = createLeaseWaits((need) => {
    const answer = Promise.withResolvers<boolean>()
    requests.push({ ...need, ...answer })
    return answer.promise
  })
  return { waits, requests, needs: () => requests.map(({ ids, calls }) => ({ ids, calls })) }
}

describe('Calls that lack a lease', () => {
  it('of one turn share a request that names all leases and counts the calls', async () => {
    const { waits, requests, needs } = openWaits()
    const results = [waits.wait(BLOCK, [3]), waits.wait(BLOCK, [3, 5]), waits.wait(BLOCK, [5])]
    await settled()
    expect(needs()).toEqual([{ ids: [3, 5], calls: 3 }])
    requests[0]!.resolve(true)
    expect(await Promise.all(results)).toEqual([true, true, true])
  })

  it('that arrive while a request is under way share the next one, which follows its answer', async () => {
    const { waits, requests, needs } = openWaits()
    const first = waits.wait(BLOCK, [1])
    await settled()
    const later = [waits.wait(BLOCK, [1]), waits.wait(BLOCK, [2])]
    await settled()
    expect(needs()).toHaveLength(1)
    requests[0]!.resolve(false)
    expect(await first).toBe(false)
    await settled()
    expect(needs()).toEqual([
      { ids: [1], calls: 1 },
      { ids: [1, 2], calls: 2 },
    ])
    requests[1]!.resolve(true)
    expect(await Promise.all(later)).toEqual([true, true])
  })

  it('of other subscriptions do not wait for each other', async () => {
    const { waits, requests } = openWaits()
    void waits.wait(BLOCK, [1])
    const other = waits.wait(OTHER, [2])
    await settled()
    requests[1]!.resolve(true)
    expect(await other).toBe(true)
  })

  it('can be had by none if the main thread does not answer; the next call asks again', async () => {
    const { waits, requests } = openWaits()
    const first = waits.wait(BLOCK, [1])
    await settled()
    const second = waits.wait(BLOCK, [1])
    requests[0]!.reject(new Error('the main thread did not respond'))
    expect(await first).toBe(false)
    await settled()
    requests[1]!.resolve(true)
    expect(await second).toBe(true)
    const third = waits.wait(BLOCK, [1])
    await settled()
    requests[2]!.resolve(true)
    expect(await third).toBe(true)
  })

  it('make one request at a time, however many come', async () => {
    const { waits, requests, needs } = openWaits()
    const results: Promise<boolean>[] = []
    for (let turn = 0; turn < 20; turn++) {
      for (let call = 0; call < 50; call++) results.push(waits.wait(BLOCK, [1]))
      await settled()
    }
    expect(needs()).toEqual([{ ids: [1], calls: 50 }])
    requests[0]!.resolve(true)
    await settled()
    requests[1]!.resolve(true)
    await Promise.all(results)
    expect(needs()[1]).toEqual({ ids: [1], calls: 950 })
  })
})
