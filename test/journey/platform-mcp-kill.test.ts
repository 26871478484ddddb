/** A service that is killed during tool calls of the platform: each answered call is in usage once, and no call twice. */

import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createService, enrol, type Service } from './service.ts'

const MINUTE = 60_000
const WORKERS = 8
const ANSWERED_MIN = 200
let service: Service

beforeAll(async () => {
  service = await createService({ args: ['--empty'] })
  await service.start()
}, MINUTE)

afterAll(() => service.remove())

it('meters each answered tool call exactly once across a SIGKILL', async () => {
  const robot = await enrol(service, 'platform-v1', { name: 'Robot', kind: 'agent', scopes: ['apis:read'] })
  const headers = {
    'x-api-key': robot.apiKey,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const params = { name: 'search_catalogue' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const enough = Promise.withResolvers<void>()
  let started = 0
  let answered = 0
  const call = async (): Promise<boolean> => {
    started++
    try {
      const answer = await request(`${service.baseUrl}/mcp`, { method: 'POST', headers, body })
      if ((await answer.body.text()).includes('"isError":false')) answered++
      if (answered >= ANSWERED_MIN) enough.resolve()
      return true
    } catch {
      return false
    }
  }
  const workers = Array.from({ length: WORKERS }, async () => {
    while (await call());
  })
  await enough.promise
  await service.kill()
  await Promise.all(workers)
  await service.start()

  const metered = async () => {
    const path = `/v1/summaries?api=platform-v1&customer=${robot.consumer}&groupBy=customer`
    const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>(path)
    return items[0]?.calls ?? 0
  }
  const poll = { timeout: 40_000, interval: 500 }
  await expect.poll(metered, poll).toBeGreaterThanOrEqual(answered)
  // A later call is metered after all earlier ones, also those that a restart has read again.
  const before = await metered()
  expect(await call()).toBe(true)
  await expect.poll(metered, poll).toBeGreaterThan(before)
  const total = await metered()
  expect(total).toBeGreaterThanOrEqual(answered)
  expect(total).toBeLessThanOrEqual(started)
  expect(started - answered).toBeLessThanOrEqual(WORKERS)
})
