/** The first calls of an API on a thread that has started: they wait while its revision is compiled. */

import { describe, expect, it } from 'vitest'
import { openBackend, openTestGateway, received } from '../../fixtures/test-gateway.ts'

const get = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`
const LAST = 'Connection: close\r\n'
const statusesIn = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!)

async function openAsleep() {
  const { promise: isAwake, resolve: wake, reject: fail } = Promise.withResolvers<void>()
  const { promise: isCalled, resolve: called } = Promise.withResolvers<void>()
  const origin = await openBackend((_, response) => void response.end('answer'))
  const gateway = await openTestGateway({ backend: { origin }, wake: () => (called(), isAwake) })
  return { gateway, isCalled, wake, fail }
}

describe('a call of an API that sleeps', () => {
  it('is served once the revision is compiled, and so are the calls behind it on its connection', async () => {
    const { gateway, isCalled, wake } = await openAsleep()
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(get('/things-v1/open') + get('/other-v1/open') + get('/things-v1/open', LAST))
    await isCalled
    await expect.poll(gateway.inFlight).toBe(2)
    wake()
    expect(statusesIn(await answer)).toEqual(['200', '404', '200'])
    expect(gateway.inFlight()).toBe(0)
    expect(await gateway.recorded(2)).toMatchObject([{ outcome: 'served' }, { outcome: 'served' }])
  })

  it('is attributed to the API if its target is not canonical', async () => {
    const { gateway, isCalled, wake } = await openAsleep()
    const answer = gateway.raw(get('/things-v1/../open', LAST))
    await isCalled
    wake()
    expect(statusesIn(await answer)).toEqual(['400'])
  })

  it.each([
    ['something that is not HTTP', 'GARBAGE\r\n\r\n'],
    ['two hosts', get('/things-v1/open', 'Host: b\r\n')],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('is answered before its connection ends because of %s behind it', async (_, refused) => {
    const { gateway, isCalled, wake } = await openAsleep()
    const answer = gateway.raw(get('/things-v1/open') + refused)
    await isCalled
    await expect.poll(() => gateway.counts.get('malformed')).toBe(1)
    wake()
    expect(statusesIn(await answer)).toEqual(['200', '400'])
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'served' }])
  })

  it('is recorded as aborted if its client goes meanwhile, and reaches no backend', async () => {
    const { gateway, isCalled, wake } = await openAsleep()
    const socket = await gateway.open()
    socket.write(get('/things-v1/open') + get('/things-v1/open'))
    await isCalled
    socket.destroy()
    // Answers on other connections show that the gateway has noticed.
    await expect.poll(() => gateway.raw(get('/other-v1/open', LAST))).toContain('HTTP/1.1 404')
    wake()
    expect(statusesIn(await gateway.raw(get('/things-v1/open', LAST)))).toEqual(['200'])
    expect(gateway.inFlight()).toBe(0)
    const outcomes = (await gateway.recorded(3)).map(({ outcome, status }) => `${outcome} ${status}`)
    expect(outcomes).toEqual(['client_aborted 499', 'client_aborted 499', 'served 200'])
  })

  it('is cut off if the revision cannot even be refused, and the fault is reported', async () => {
    const { gateway, isCalled, fail } = await openAsleep()
    const answer = gateway.raw(get('/things-v1/open'))
    await isCalled
    fail(new Error('a bug'))
    expect(await answer).toBe('')
    expect(gateway.faults).toHaveLength(1)
    expect(gateway.inFlight()).toBe(0)
  })

  it('is cut off behind another call, whose answer is sent first', async () => {
    const { gateway, isCalled, fail } = await openAsleep()
    const answer = gateway.raw(get('/other-v1/open') + get('/things-v1/open') + get('/other-v1/open'))
    await isCalled
    fail(new Error('a bug'))
    expect(statusesIn(await answer)).toEqual(['404'])
    expect(gateway.inFlight()).toBe(0)
  })
})
