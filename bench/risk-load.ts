/**
 * Makes the real gateway publish a steady number of risk events.
 *
 * An open episode is published again every ten seconds at most, while it has new events. So there are ten times as many episodes as
 * events per second, one for each API and consumer, and each gets one invalid call every ten seconds, evenly spread.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Credential, PlatformClient } from '../src/interfaces/cli/platform-client.ts'

export interface RiskLoad {
  readonly episodes: number
  /** Stops, and returns the number of calls that were not refused as invalid. */
  stop(): Promise<number>
}

export interface RiskLoadOptions {
  readonly platform: PlatformClient
  readonly gatewayUrl: string
  readonly eventsPerSecond: number
}

const APIS = 25
const PERIOD_SECONDS = 10
/** A call in time makes an update; one that is late misses it, so a few more episodes are opened. */
const SPARE = 1.1
const STEP_MS = 20
const INVALID = 400

export async function startRiskLoad({ platform, gatewayUrl, eventsPerSecond }: RiskLoadOptions): Promise<RiskLoad> {
  const consumers = Math.ceil((eventsPerSecond * PERIOD_SECONDS * SPARE) / APIS)
  const apis = Array.from({ length: APIS }, (_, index) => `load-${index}-v1`)
  for (const api of apis) await publish(platform, api)
  const product = await platform.post<{ id: string }>('/v1/products', { name: 'Load', apis })
  const keys: string[] = []
  for (let number = 0; number < consumers; number++) keys.push(await subscribe(platform, product.id, `Load ${number}`))
  return run(gatewayUrl, apis, keys)
}

/** Nothing is forwarded: each call is refused by the contract. */
async function publish(platform: PlatformClient, api: string): Promise<void> {
  const document = {
    openapi: '3.1.0',
    info: { title: api.replace(/-v1$/, ''), version: '1.0.0' },
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
    security: [{ key: [] }],
    paths: {
      '/items': {
        get: {
          operationId: 'listItems',
          parameters: [{ name: 'n', in: 'query', schema: { type: 'integer' } }],
          responses: { 200: { description: 'ok' } },
        },
      },
    },
  }
  const specification = Buffer.from(JSON.stringify(document)).toString('base64')
  const { id } = await platform.post<{ id: string }>('/v1/proxies', {
    ...{ api, specification, backend: { url: 'http://127.0.0.1:9' } },
  })
  await platform.post(`/v1/proxies/${id}/activate`)
}

async function subscribe(platform: PlatformClient, product: string, name: string): Promise<string> {
  const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name, kind: 'application' })
  const { id } = await platform.post<{ id: string }>('/v1/subscriptions', {
    consumer,
    product,
    securityTypes: ['ApiKey'],
  })
  const { items } = await platform.get<{ items: readonly Credential[] }>(`/v1/subscriptions/${id}/credentials`)
  return items.find(({ type }) => type === 'ApiKey')?.apiKey ?? ''
}

function run(gatewayUrl: string, apis: readonly string[], keys: readonly string[]): RiskLoad {
  const pool = new Pool(gatewayUrl, { connections: 8 })
  const calls = apis.flatMap((api) => keys.map((key) => ({ api, key })))
  let others = 0
  let isStopped = false

  async function send({ api, key }: (typeof calls)[number]): Promise<void> {
    const answer = await pool.request({ method: 'GET', path: `/${api}/items?n=no`, headers: { 'x-api-key': key } })
    await answer.body.dump()
    if (answer.statusCode !== INVALID) others++
  }

  async function loop(): Promise<void> {
    const startMs = performance.now()
    for (let sent = 0; !isStopped; await sleep(STEP_MS)) {
      const due = ((performance.now() - startMs) / (PERIOD_SECONDS * 1_000)) * calls.length
      const batch: Promise<void>[] = []
      for (; sent < due; sent++) batch.push(send(calls[sent % calls.length]!))
      await Promise.all(batch)
    }
  }

  const running = loop()
  return {
    episodes: calls.length,
    async stop() {
      isStopped = true
      await running
      await pool.close()
      return others
    },
  }
}
