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
    expect(gateway.inFlight()).toBe(0)
    wake()
    expect(statusesIn(await answer)).toEqual(['200', '404', '200'])
    expect(await gateway.recorded(2)).toMatchObject([{ outcome: 'served' }, { outcome: 'served' }])
  })

  it('is attributed to the API if its target is not canonical', async () => {
    const { gateway, isCalled, wake } = await openAsleep()
    const answer = gateway.raw(get('/things-v1/../open', LAST))
    await isCalled
    wake()
    expect(statusesIn(await answer)).toEqual(['400'])
  })

  it('ends without a record if its client goes meanwhile', async () => {
    const { gateway, isCalled, wake } = await openAsleep()
    const socket = await gateway.open()
    socket.write(get('/things-v1/open') + get('/things-v1/open'))
    await isCalled
    socket.destroy()
    // Answers on other connections show that the gateway has noticed.
    await expect.poll(() => gateway.raw(get('/other-v1/open', LAST))).toContain('404')
    wake()
    expect(statusesIn(await gateway.raw(get('/things-v1/open', LAST)))).toEqual(['200'])
    expect(gateway.inFlight()).toBe(0)
    expect(gateway.records.filter(({ outcome }) => outcome === 'served')).toHaveLength(1)
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
})
