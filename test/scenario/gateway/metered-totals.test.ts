/** Records, counters and counters after a restart agree on units that are known after the response, whatever runs at once. */

import { expect, it } from 'vitest'
import { openMeteredGateway } from '../../fixtures/metered-gateway.ts'
import { openBackend } from '../../fixtures/test-gateway.ts'

const responses = { 200: { description: 'ok' } }
const PATHS = {
  '/ask': { get: { operationId: 'ask', 'x-tollgate-units': { per: 'response', reserve: 10 }, responses } },
  '/chat': { get: { operationId: 'chat', 'x-tollgate-units': { per: 'event', units: 0.5, reserve: 2 }, responses } },
  '/plain': { get: { operationId: 'plain', responses } },
}
const EVENT = 'data: a\n\n'

async function openWith(resourceUnits: number, hold: Promise<void> = Promise.resolve()) {
  const arrived: string[] = []
  const origin = await openBackend(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://backend')
    arrived.push(pathname)
    await hold
    const [units, status] = [Number(searchParams.get('units')), Number(searchParams.get('status') ?? 200)]
    if (pathname === '/ask') response.writeHead(status, { 'x-usage-units': String(units) }).end('ok')
    else if (pathname === '/chat') {
      response.writeHead(status, { 'content-type': 'text/event-stream' })
      response.write(EVENT.repeat(units))
      response.end(': end\n\n')
    } else response.writeHead(status).end('ok')
  })
  const declaration = { quotas: { period: 'Annual', resourceUnits }, resourceUnits: { default: 1 } }
  const gateway = await openMeteredGateway({ backend: { origin, connections: 64 }, paths: PATHS }, declaration)
  return {
    ...gateway,
    calls: gateway.calls,
    arrived,
    async call(path: string, subscription = 'a'): Promise<number> {
      const headers = { 'x-api-key': `key-${subscription}` }
      const response = await fetch(`http://127.0.0.1:${gateway.port}/things-v1${path}`, { headers })
      await response.text()
      return response.status
    },
  }
}

const sumOf = (calls: readonly { readonly subscription: string; readonly units: number }[], subscription: string) =>
  calls.filter((call) => call.subscription === subscription).reduce((sum, { units }) => sum + units, 0)

it('The units of many calls at once are the same in records, in counters and after a restart', async () => {
  const gateway = await openWith(1_000_000)
  let state = 11
  const random = (below: number): number => (state = (state * 48_271) % 0x7fff_ffff) % below
  const paths = Array.from({ length: 600 }, () => {
    const path = ['/ask', '/chat', '/plain'][random(3)]!
    const status = random(6) === 0 ? '&status=503' : ''
    return [`${path}?units=${random(30)}${status}`, ['a', 'b', 'c'][random(3)]!] as const
  })
  await Promise.all(paths.map(([path, subscription]) => gateway.call(path, subscription)))
  await gateway.recorded(paths.length)
  for (const subscription of ['a', 'b', 'c']) {
    const sum = sumOf(gateway.calls, subscription)
    expect(sum).toBeGreaterThan(100)
    expect([gateway.used(subscription), gateway.usedAfterRestart(subscription)]).toEqual([sum, sum])
  }
  expect(gateway.faults).toEqual([])
})

it('A quota is exceeded by what calls in flight use beyond their reserve, and by no later call', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const gateway = await openWith(40, promise)
  const running = Array.from({ length: 4 }, () => gateway.call('/ask?units=100'))
  await expect.poll(() => gateway.arrived.length).toBe(4)
  expect(gateway.used('a')).toBe(40)
  expect(await gateway.call('/ask?units=1')).toBe(402)
  resolve()
  expect(await Promise.all(running)).toEqual([200, 200, 200, 200])
  await gateway.recorded(5)
  expect([gateway.used('a'), gateway.usedAfterRestart('a'), sumOf(gateway.calls, 'a')]).toEqual([400, 400, 400])
  for (const path of ['/ask?units=1', '/chat?units=0', '/plain']) expect(await gateway.call(path)).toBe(402)
  expect(gateway.used('a')).toBe(400)
})

it('A quota that reserves have filled admits calls again once less was used', async () => {
  const gateway = await openWith(10)
  for (let call = 0; call < 5; call++) expect(await gateway.call('/ask?units=0')).toBe(200)
  expect(await gateway.call('/chat?units=16')).toBe(200)
  expect(gateway.used('a')).toBe(8)
  expect([await gateway.call('/ask?units=0'), await gateway.call('/chat?units=3')]).toEqual([402, 200])
  expect(gateway.used('a')).toBe(9.5)
})
