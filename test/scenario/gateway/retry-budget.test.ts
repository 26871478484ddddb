/** Calls that are sent again are bounded per API: targets that fail do not double the load of the others. */

import { describe, expect, it } from 'vitest'
import type { Balancer } from '../../../src/gateway/backend/balancer.ts'
import { openFailing, openRefusing, openServing, openTargets } from '../../fixtures/target-backends.ts'
import { openRawBackend } from '../../fixtures/test-backend.ts'

/** Takes all repetitions of the next ten seconds. */
function spend({ retries }: Balancer): void {
  while (retries!.withdraw(Date.now()));
}

describe('a call of an API that has spent its retries', () => {
  it.each([
    ['reset', 502, 'upstream_broken'],
    ['garbage', 502, 'upstream_broken'],
    ['hang', 504, 'upstream_timeout'],
  ] as const)('fails as without another target, after %s', async (fault, status, outcome) => {
    const [bad, good] = [await openFailing(fault), await openServing()]
    const { gateway, send, healthOf, isFree } = await openTargets([bad, good], {
      backend: { origin: bad.origin, ...(fault === 'hang' && { timeoutMs: 200 }) },
    })
    spend(gateway.revision.backend!)
    expect(await send('GET')).toContain(`HTTP/1.1 ${status}`)
    expect(gateway.records).toMatchObject([{ outcome, status }])
    expect([bad.received.length, good.received]).toEqual([1, []])
    expect([gateway.counts.get('backend_retry_refused'), gateway.counts.has('backend_retried')]).toEqual([1, false])
    expect([healthOf(), isFree(), gateway.inFlight()]).toEqual([['0 good, 1 failed', 'nothing'], true, 0])
  })

  it('is not sent to the same target again either', async () => {
    const bad = await openFailing('reset')
    const { gateway, send, backends } = await openTargets([bad, await openServing()])
    backends[1]!.gate.set({ mode: 'shut', retryAtMs: Date.now() + 60_000 })
    spend(gateway.revision.backend!)
    expect(await send('GET')).toContain('HTTP/1.1 502')
    expect([bad.received.length, gateway.counts.get('backend_retry_refused')]).toEqual([1, 1])
  })

  it.each(['GET', 'POST'])('is still served by another target if nothing was sent: %s', async (method) => {
    const good = await openServing()
    const { gateway, send } = await openTargets([await openRefusing(), good])
    spend(gateway.revision.backend!)
    expect(await send(method, method === 'GET' ? null : 'hello')).toContain('200 OK')
    expect([good.received.length, gateway.counts.has('backend_retry_refused')]).toEqual([1, false])
  })

  it('counts nothing as refused if it may not be sent again anyway', async () => {
    const { gateway, send } = await openTargets([await openFailing('reset'), await openServing()])
    spend(gateway.revision.backend!)
    expect(await send('POST', 'hello')).toContain('HTTP/1.1 502')
    expect(gateway.counts.has('backend_retry_refused')).toBe(false)
  })
})

it('A flood of calls to a target that resets them loads the other one by a fifth of the calls and a constant', async () => {
  const [bad, good] = [await openFailing('reset'), await openServing()]
  const { gateway, send } = await openTargets([bad, good])
  const calls = 600
  const sinceMs = Date.now()
  for (let sent = 0; sent < calls; sent += 20) await Promise.all(Array.from({ length: 20 }, () => send('GET')))
  const retried = gateway.counts.get('backend_retried')!
  const refused = gateway.counts.get('backend_retry_refused')!
  expect([bad.received.length, good.received.length]).toEqual([calls / 2, calls / 2 + retried])
  expect(retried + refused).toBe(calls / 2)
  // The constant part is there anew after nine seconds at the earliest, if this machine is that slow.
  const constants = 100 * (1 + Math.floor((Date.now() - sinceMs) / 9_000))
  expect(retried).toBeGreaterThanOrEqual(100)
  expect(retried).toBeLessThanOrEqual(constants + calls / 5)
  expect(gateway.records.filter(({ outcome }) => outcome === 'served')).toHaveLength(calls / 2 + retried)
})

it('A backend with one target has no such bound', async () => {
  let requests = 0
  const origin = await openRawBackend((socket) =>
    socket.on('data', () => {
      if (++requests % 2 === 1) socket.resetAndDestroy()
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }),
  )
  const { gateway, send } = await openTargets([{ origin, received: [] }])
  for (let count = 0; count < 150; count++) expect(await send('GET')).toContain('200 OK')
  expect([requests, gateway.counts.has('backend_retry_refused')]).toEqual([300, false])
})
