/** `/metrics` of the whole service, on a separate port and with a token. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownPort, ownUrl } from '../fixtures/own-address.ts'
import { createService, type Service } from './service.ts'

const TOKEN = 'a-token-for-the-metrics'
let service: Service
let port: number

beforeAll(async () => {
  port = await ownPort()
  service = await createService({ args: ['--empty'], env: { METRICS_PORT: String(port), METRICS_TOKEN: TOKEN } })
  await service.start()
})

afterAll(() => service.remove())

async function get(url: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const { statusCode, body } = await request(url, { headers })
  return { status: statusCode, text: await body.text() }
}

describe('METRICS_PORT', () => {
  it('serves /metrics to holders of METRICS_TOKEN, and the platform port no longer does', async () => {
    const own = ownUrl(port)
    const authorization = `Bearer ${TOKEN}`
    expect(await get(`${own}/metrics`)).toMatchObject({ status: 401 })
    expect(await get(`${own}/metrics`, { authorization })).toMatchObject({
      status: 200,
      text: expect.stringContaining('tollgate_spool_used_ratio') as string,
    })
    expect(await get(`${own}/v1/apis`, { authorization })).toMatchObject({ status: 404 })
    expect(await get(`${service.baseUrl}/metrics`, { authorization })).toMatchObject({ status: 404 })
  })

  it('is closed with the service, which exits with code 0', async () => {
    expect(await service.stop()).toBe(0)
    await expect(get(`${ownUrl(port)}/metrics`)).rejects.toThrow()
  })
})
