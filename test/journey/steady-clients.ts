/** Clients that keep their connections and send one call after the other, through a load balancer. */

import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { expect } from 'vitest'

export const CLIENTS = 8
/** A call without an answer fails, long before the test would end without a reason. */
const ANSWER_MS_MAX = 30_000
/** Of a client after each response: without it, the load takes the processors from what is tested. */
const PAUSE_MS = 10
export const WITHIN = { timeout: 60_000, interval: 20 }

export interface Traffic {
  /** Status of each call that was not answered with 200; 0: the connection broke. */
  readonly failures: readonly number[]
  readonly served: () => number
  /** Beginnings of the request ids: random for each start of a service, which has one thread. */
  readonly starts: ReadonlySet<string>
  stop(): Promise<void>
}

export type Method = 'GET' | 'POST'

export interface TrafficOptions {
  readonly gatewayUrl: string
  /** Of a subscription to `things-v1`. */
  readonly apiKey: string
  /** In turn. */
  readonly methods: readonly Method[]
  readonly clients?: number
}

export function startTraffic({ gatewayUrl, apiKey, methods, clients = CLIENTS }: TrafficOptions): Traffic {
  const agent = new Agent({ connections: clients, headersTimeout: ANSWER_MS_MAX, bodyTimeout: ANSWER_MS_MAX })
  const failures: number[] = []
  const starts = new Set<string>()
  let served = 0
  let isStopped = false

  async function call(method: Method): Promise<void> {
    const path = method === 'GET' ? '/things-v1/things' : '/things-v1/upload'
    const headers = { 'x-api-key': apiKey, ...(method === 'POST' && { 'content-type': 'application/octet-stream' }) }
    const body = method === 'POST' ? Buffer.alloc(2_000) : null
    const answer = await request(`${gatewayUrl}${path}`, { method, headers, body, dispatcher: agent })
    await answer.body.dump()
    if (answer.statusCode !== 200) return void failures.push(answer.statusCode)
    served++
    starts.add(String(answer.headers['x-request-id']).slice(0, 16))
  }

  async function runClient(): Promise<void> {
    for (let count = 0; !isStopped; count++) {
      await call(methods[count % methods.length]!).catch(() => void failures.push(0))
      await pause(PAUSE_MS)
    }
  }

  const running = Array.from({ length: clients }, runClient)
  return {
    failures,
    starts,
    served: () => served,
    async stop() {
      isStopped = true
      await Promise.all(running)
      await agent.close()
    },
  }
}

/** Resolves when so many more calls were served. */
export async function more(traffic: Traffic, calls: number): Promise<void> {
  const until = traffic.served() + calls
  await expect.poll(traffic.served, WITHIN).toBeGreaterThanOrEqual(until)
}
