/**
 * Good calls at a fixed rate from this process, as background: an open loop, so a slow gateway gets no
 * relief. What cannot be sent because too many calls are without an answer is left out and counted.
 */

import { Pool } from 'undici'

export interface SteadyLoad {
  /** Calls answered 2xx, answered otherwise, and not sent. */
  readonly counts: { good: number; bad: number; leftOut: number }
  stop(): Promise<void>
}

export interface SteadyLoadOptions {
  readonly origin: string
  readonly path: string
  readonly token: string
  readonly callsPerSecond: number
}

const CONNECTIONS = 64
const IN_FLIGHT_MAX = 1_024
const TICK_MS = 5

export function startSteadyLoad({ origin, path, token, callsPerSecond }: SteadyLoadOptions): SteadyLoad {
  const pool = new Pool(origin, { connections: CONNECTIONS })
  const options = { path, method: 'GET', headers: { authorization: `Bearer ${token}` } } as const
  const counts = { good: 0, bad: 0, leftOut: 0 }
  const startMs = performance.now()
  let sent = 0
  let inFlight = 0

  async function call(): Promise<void> {
    inFlight++
    try {
      const { statusCode, body } = await pool.request(options)
      await body.dump()
      if (statusCode < 300) counts.good++
      else counts.bad++
    } catch {
      counts.bad++
    } finally {
      inFlight--
    }
  }

  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) / 1000) * callsPerSecond)
    for (; sent < due; sent++) {
      if (inFlight < IN_FLIGHT_MAX) void call()
      else counts.leftOut++
    }
  }, TICK_MS)

  return {
    counts,
    async stop() {
      clearInterval(timer)
      await pool.close()
    },
  }
}
