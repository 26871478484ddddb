import { describe, expect, it } from 'vitest'
import type { LeaseNeed } from '../../../src/limits/lease-book.ts'
import { createLeaseWaits } from '../../../src/limits/lease-waits.ts'
import { settled } from '../../fixtures/fake-clock.ts'

function openWaits() {
  const requests: ({ need: LeaseNeed } & PromiseWithResolvers<boolean>)[] = []
  const waits = createLeaseWaits((need) => {
    const answer = Promise.withResolvers<boolean>()
    requests.push({ need, ...answer })
    return answer.promise
  })
  return { waits, requests, needs: () => requests.map(({ need }) => need) }
}

describe('Calls that lack a lease', () => {
  it('of one turn share a request that names all leases and counts the calls that lack them', async () => {
    const { waits, requests, needs } = openWaits()
    const results = [1, 2].map(() =>
      waits.wait([
        [3, 1],
        [5, 2],
      ]),
    )
    await settled()
    expect(needs()).toEqual([
      [
        [3, 2, 1],
        [5, 4, 2],
      ],
    ])
    requests[0]!.resolve(true)
    expect(await Promise.all(results)).toEqual([true, true])
  })

  it('that arrive while a request is under way share the next one, which follows its answer', async () => {
    const { waits, requests, needs } = openWaits()
    const first = waits.wait([[1, 1]])
    await settled()
    const later = [waits.wait([[1, 1]]), waits.wait([[1, 3]])]
    await settled()
    expect(needs()).toHaveLength(1)
    requests[0]!.resolve(false)
    expect(await first).toBe(false)
    await settled()
    expect(needs()).toEqual([[[1, 1, 1]], [[1, 4, 1]]])
    requests[1]!.resolve(true)
    expect(await Promise.all(later)).toEqual([true, true])
  })

  it('state the units of all calls, and the least that one of them needs', async () => {
    const { waits, requests, needs } = openWaits()
    const results = [waits.wait([[4, 300]]), waits.wait([[4, 20]]), waits.wait([[4, 100]])]
    await settled()
    expect(needs()).toEqual([[[4, 420, 20]]])
    requests[0]!.resolve(true)
    await Promise.all(results)
  })

  it('do not wait for those that lack others as well, one of which may be closed', async () => {
    const { waits, requests } = openWaits()
    void waits.wait([
      [1, 1],
      [2, 1],
    ])
    const other = waits.wait([[2, 1]])
    await settled()
    requests[1]!.resolve(true)
    expect(await other).toBe(true)
  })

  it('can be had by none if the main thread does not answer; the next call asks again', async () => {
    const { waits, requests } = openWaits()
    const first = waits.wait([[1, 1]])
    await settled()
    const second = waits.wait([[1, 1]])
    requests[0]!.reject(new Error('the main thread did not respond'))
    expect(await first).toBe(false)
    await settled()
    requests[1]!.resolve(true)
    expect(await second).toBe(true)
    const third = waits.wait([[1, 1]])
    await settled()
    requests[2]!.resolve(true)
    expect(await third).toBe(true)
  })

  it('make one request at a time, however many come', async () => {
    const { waits, requests, needs } = openWaits()
    const results: Promise<boolean>[] = []
    for (let turn = 0; turn < 20; turn++) {
      for (let call = 0; call < 50; call++) results.push(waits.wait([[1, 1]]))
      await settled()
    }
    expect(needs()).toEqual([[[1, 50, 1]]])
    requests[0]!.resolve(true)
    await settled()
    requests[1]!.resolve(true)
    await Promise.all(results)
    expect(needs()[1]).toEqual([[1, 950, 1]])
  })
})
