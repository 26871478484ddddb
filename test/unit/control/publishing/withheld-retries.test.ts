/** What a node withholds is tried again, until it is served or the node stops. */

import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { createWithheldRetries } from '../../../../src/control/publishing/withheld-retries.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { ACME, base64, openTestCatalogue, orders, publishApi } from '../../../fixtures/test-catalogue.ts'

function openRetries(retry: (api: string) => Promise<unknown>) {
  const clock = createFakeClock(0)
  const log: string[] = []
  const retries = createWithheldRetries({
    clock,
    retry,
    onServed: (api) => log.push(`${clock.nowMs() / 1_000} ${api} served`),
    onFailed: (api) => log.push(`${clock.nowMs() / 1_000} ${api} failed`),
  })
  return { clock, log, retries }
}

describe('an API that is withheld', () => {
  it('is tried again after five seconds, then less and less often, at least every ten minutes', async () => {
    let failures = 10
    const { clock, log, retries } = openRetries(async () => {
      if (failures-- > 0) throw new Error('broken')
    })
    retries.add('a-v1')
    retries.add('a-v1')
    await clock.advance(60_000)
    expect(log).toEqual([])
    retries.start()
    await clock.advance(3_600_000)
    const after = [5, 15, 35, 75, 155, 315, 635, 1_235, 1_835, 2_435, 3_035].map((seconds) => 60 + seconds)
    expect(log).toEqual(after.map((at, index) => `${at} a-v1 ${index < 10 ? 'failed' : 'served'}`))
    expect(clock.pending).toBe(0)
    retries.add('a-v1')
    await clock.advance(5_000)
    expect(log.at(-1)).toBe('3665 a-v1 served')
  })

  it('waits for the attempt of another one', async () => {
    let running = 0
    const release: (() => void)[] = []
    const { clock, log, retries } = openRetries(async () => {
      expect(++running).toBe(1)
      await new Promise<void>((resolve) => release.push(resolve))
      running--
    })
    retries.start()
    for (const api of ['a-v1', 'b-v1']) retries.add(api)
    await clock.advance(5_000)
    expect(release).toHaveLength(1)
    release[0]!()
    await expect.poll(() => release.length).toBe(2)
    release[1]!()
    await expect.poll(() => log).toEqual(['5 a-v1 served', '5 b-v1 served'])
  })

  it('is not tried again once the node stops, which waits for a running attempt', async () => {
    const { promise, reject } = Promise.withResolvers<void>()
    const { clock, log, retries } = openRetries(() => promise)
    retries.start()
    for (const api of ['a-v1', 'b-v1']) retries.add(api)
    await clock.advance(5_000)
    retries.add('c-v1')
    let isStopped = false
    const stopped = retries.stop().then(() => (isStopped = true))
    await new Promise(setImmediate)
    expect(isStopped).toBe(false)
    reject(new Error('broken'))
    await stopped
    await clock.advance(600_000)
    expect([log, clock.pending]).toEqual([['5 a-v1 failed'], 0])
  })
})

describe('A canary that a single node withholds', () => {
  async function openWithheld() {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, { api: 'orders-v1', specification: base64(orders({ version: '1.3.0' })) })
    await catalogue.proxies.activate(ACME, proxy, { percent: 10 })
    const { gateway, proxies, canariesWithheld } = catalogue
    const { prepare } = gateway
    const states: (string | undefined)[] = []
    const fails: { on: 'canary' | 'all' | null } = { on: 'canary' }
    gateway.prepare = async (plan, slas) => {
      const state = plan.canary?.plan.state
      if (fails.on === 'all') throw new Problem('unavailable', 'Too many revisions.')
      if (fails.on === 'canary' && state === 'Active') throw new Problem('specification_invalid', 'No memory.')
      states.push(state)
      return prepare(plan, slas)
    }
    await catalogue.apiPolicies.put(ACME, 'orders-v1', { cors: { origins: ['https://app.example'] } })
    expect([canariesWithheld, states]).toEqual([['orders-v1'], ['Withheld']])
    const opened = openRetries(proxies.retry)
    opened.retries.start()
    opened.retries.add('orders-v1')
    return { ...opened, catalogue, proxy, states, fails }
  }

  it('is served again once it can be compiled, without a change of its API; attempts that fail change nothing', async () => {
    const { clock, log, states, fails, catalogue } = await openWithheld()
    const before = catalogue.gateway.calls.length
    await clock.advance(5_000)
    await expect.poll(() => log).toEqual(['5 orders-v1 failed'])
    fails.on = 'all'
    await clock.advance(10_000)
    await expect.poll(() => log.at(-1)).toBe('15 orders-v1 failed')
    // The active revision goes on to serve the other callers.
    expect(catalogue.gateway.calls.length).toBe(before)
    fails.on = null
    await clock.advance(20_000)
    await expect.poll(() => log.at(-1)).toBe('35 orders-v1 served')
    expect(states).toEqual(['Withheld', 'Active'])
  })

  it.each(['discard', 'removal'] as const)('needs no attempt after its %s', async (end) => {
    const { clock, log, states, catalogue, proxy } = await openWithheld()
    await catalogue.proxies.discard(ACME, proxy)
    if (end === 'removal') {
      await catalogue.retirement.deprecate(ACME, 'orders-v1', { retirementDate: '2027-09-01' })
      await catalogue.retirement.retire(ACME, 'orders-v1', true)
      await catalogue.apiRemoval.remove(ACME, 'orders-v1')
    }
    const { length } = states
    await clock.advance(5_000)
    await expect.poll(() => log).toEqual(['5 orders-v1 served'])
    expect(states).toHaveLength(length)
  })
})
