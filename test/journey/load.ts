/** Clients that call an API, and count the responses. */

import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import type { Enrolled, Service } from './service.ts'

/** Calls of one consumer. */
export interface Tally {
  readonly caller: Enrolled
  sent: number
  /** Calls that were answered 200, to the last byte. */
  whole: number
}

export interface Load {
  readonly tallies: readonly Tally[]
  /** Resolves when at least `calls` calls of each consumer were answered completely since the load began. */
  reached(calls: number): Promise<void>
  /** Resolves when no call is in flight. Rejects if one was not answered 200. */
  stop(): Promise<void>
}

const CLIENTS_PER_CALLER = 4
/** Of a client after each response: without it, the load takes the processors from what is tested. */
const PAUSE_MS = 25

/** Calls `GET /ledger-v1/entries`. */
export function startLoad(
  service: Pick<Service, 'gatewayUrl'>,
  callers: readonly Enrolled[],
  clients = CLIENTS_PER_CALLER,
): Load {
  const agent = new Agent({ connections: callers.length * clients, pipelining: 1 })
  const tallies = callers.map((caller): Tally => ({ caller, sent: 0, whole: 0 }))
  const waiting = new Set<{ readonly calls: number; readonly resolve: () => void }>()
  let isOver = false

  async function client(tally: Tally): Promise<void> {
    while (!isOver) {
      const n = tally.sent++
      const { statusCode, body } = await agent.request({
        origin: service.gatewayUrl,
        path: `/ledger-v1/entries?n=${n}`,
        method: 'GET',
        headers: { 'x-api-key': tally.caller.apiKey },
      })
      const text = await body.text()
      if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`)
      tally.whole++
      for (const each of waiting) {
        if (tallies.some(({ whole }) => whole < each.calls)) continue
        waiting.delete(each)
        each.resolve()
      }
      await pause(PAUSE_MS)
    }
  }

  const running = Promise.all(tallies.flatMap((tally) => Array.from({ length: clients }, () => client(tally))))
  // A caller that waits for progress receives the failure as well.
  const failed = running.then(() => new Promise<never>(() => {}))
  failed.catch(() => {})
  return {
    tallies,
    reached: (calls) => Promise.race([failed, new Promise<void>((resolve) => void waiting.add({ calls, resolve }))]),
    async stop() {
      isOver = true
      try {
        await running
      } finally {
        await agent.destroy()
      }
    },
  }
}

/** Calls by consumer, as the summaries show them. */
export async function billOf(service: Pick<Service, 'platform'>): Promise<ReadonlyMap<string, number>> {
  const { items } = await service.platform.get<{ items: readonly { customer: string; calls: number }[] }>(
    '/v1/summaries?api=ledger-v1&groupBy=customer&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&limit=500',
  )
  return new Map(items.map(({ customer, calls }) => [customer, calls]))
}

/** Calls by consumer, added up from the line items. */
export async function lineItemsOf(service: Pick<Service, 'platform'>): Promise<ReadonlyMap<string, number>> {
  const calls = new Map<string, number>()
  const range = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z'
  for (let cursor = ''; ;) {
    const page = await service.platform.get<{
      items: readonly { customer: string; calls: number }[]
      next: string | null
    }>(`/v1?api=ledger-v1&limit=500&${range}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
    for (const item of page.items) calls.set(item.customer, (calls.get(item.customer) ?? 0) + item.calls)
    if (page.next === null) return calls
    cursor = page.next
  }
}

export function sumOf(calls: ReadonlyMap<string, number>): number {
  return [...calls.values()].reduce((sum, each) => sum + each, 0)
}
