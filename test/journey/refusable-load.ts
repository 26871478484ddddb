/** Calls until it is stopped, and counts the results. */

import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'

export interface Load {
  /** Calls that were answered 200 completely. */
  answered(): number
  /** Calls that were answered 503. */
  refused(): number
  /** Number of other results, by description. */
  readonly others: ReadonlyMap<string, number>
  /** Resolves when every call has ended. */
  stop(): Promise<void>
}

/** Of a client after each response: without it, the load takes the processors from what is tested. */
const PAUSE_MS = 5

export interface LoadOptions {
  readonly origin: string
  readonly path: string
  readonly apiKey: string
  readonly clients: number
}

export function startLoad({ origin, path, apiKey, clients }: LoadOptions): Load {
  const agent = new Agent({ connections: clients, pipelining: 1 })
  const others = new Map<string, number>()
  let answered = 0
  let refused = 0
  let isOver = false

  async function call(): Promise<void> {
    const { statusCode, body } = await agent.request({ origin, path, method: 'GET', headers: { 'x-api-key': apiKey } })
    await body.text()
    if (statusCode === 200) answered++
    else if (statusCode === 503) refused++
    else note(String(statusCode))
  }

  function note(what: string): void {
    others.set(what, (others.get(what) ?? 0) + 1)
  }

  async function client(): Promise<void> {
    // A response that had begun when its record was refused is aborted.
    while (!isOver) {
      await call().catch((cause: NodeJS.ErrnoException) => note(cause.code ?? cause.message))
      await pause(PAUSE_MS)
    }
  }

  const ended = Promise.all(Array.from({ length: clients }, client))
  return {
    answered: () => answered,
    refused: () => refused,
    others,
    async stop() {
      isOver = true
      await ended
      if (!agent.destroyed) await agent.destroy()
    },
  }
}
