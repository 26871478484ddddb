/**
 * Keeps the demo's tally current: requests the bill every two seconds, and follows the risk stream. Both
 * continue after a failed request; `trouble` is the reason of the latest failure.
 */

import { readEventStream } from './event-stream.ts'
import type { RiskNews, Tally } from './demo-tally.ts'
import type { PlatformClient } from './platform-client.ts'

export interface WatchOptions {
  readonly platform: PlatformClient
  readonly baseUrl: string
  readonly api: string
  readonly from: Date
  /** Consumer name by id. */
  readonly names: ReadonlyMap<string, string>
  readonly tally: Tally
}

export interface Watch {
  trouble(): string
  /** Requests the bill once more. */
  refresh(): Promise<void>
  stop(): void
}

interface Summary {
  readonly customer: string
  readonly value: number
  readonly calls: number
  readonly amount: string
  readonly currency: string
}

const ASK_EVERY_MS = 2_000
const LISTEN_AGAIN_MS = 1_000

export function startWatch({ platform, baseUrl, api, from, names, tally }: WatchOptions): Watch {
  const end = new AbortController()
  let trouble = ''
  let isAsking = false

  async function refresh(): Promise<void> {
    if (isAsking) return
    isAsking = true
    try {
      const query = new URLSearchParams({ api, from: from.toISOString(), limit: '100' })
      const { items } = await platform.get<{ items: readonly Summary[] }>(`/v1/summaries?${query}`)
      tally.billed(
        items
          .filter(({ customer }) => names.has(customer))
          .map(({ customer, value, calls, amount, currency }) => ({
            name: names.get(customer) ?? customer,
            units: value,
            calls,
            amount,
            currency,
          })),
      )
      trouble = ''
    } catch (error) {
      trouble = (error as Error).message
    } finally {
      isAsking = false
    }
  }

  async function listen(): Promise<void> {
    while (!end.signal.aborted) {
      try {
        await readEventStream({
          url: `${baseUrl}/v1/events/subscribe`,
          token: await platform.token(),
          signal: end.signal,
          onEvent: ({ event, data }) => void (event === 'risk' && tally.heard(JSON.parse(data) as RiskNews)),
        })
      } catch (error) {
        if (end.signal.aborted) return
        trouble = (error as Error).message
      }
      await new Promise((resolve) => setTimeout(resolve, LISTEN_AGAIN_MS))
    }
  }

  const timer = setInterval(() => void refresh(), ASK_EVERY_MS)
  void listen()
  return {
    trouble: () => trouble,
    refresh,
    stop() {
      clearInterval(timer)
      end.abort()
    },
  }
}
