/**
 * Calls at a fixed rate from a thread of its own, and how long each took: an open loop, so a slow
 * gateway gets no relief. What cannot be sent because too many calls are without an answer is counted.
 *
 * A token in which `{n}` stands is another token at each call.
 */

import { parentPort, Worker, workerData } from 'node:worker_threads'
import { Pool } from 'undici'

export interface PacedLoadOptions {
  readonly origin: string
  readonly path: string
  readonly token: string
  readonly callsPerSecond: number
  readonly seconds: number
  readonly statusExpected: number
}

export interface PacedResult {
  readonly latenciesMs: readonly number[]
  /** Answers of another status, and calls without an answer. */
  readonly unexpected: number
  readonly leftOut: number
}

const CONNECTIONS = 32
const IN_FLIGHT_MAX = 512
const TICK_MS = 2

/** Starts at once; resolves when all calls are answered. */
export function runPaced(options: PacedLoadOptions): Promise<PacedResult> {
  const { promise, resolve, reject } = Promise.withResolvers<PacedResult>()
  const worker = new Worker(new URL(import.meta.url), { workerData: options })
  worker.once('message', resolve)
  worker.once('error', reject)
  return promise
}

if (parentPort !== null) parentPort.postMessage(await pace(workerData as PacedLoadOptions))

async function pace(options: PacedLoadOptions): Promise<PacedResult> {
  const { origin, path, token, callsPerSecond, seconds, statusExpected } = options
  const pool = new Pool(origin, { connections: CONNECTIONS })
  const latenciesMs: number[] = []
  let unexpected = 0
  let leftOut = 0
  let inFlight = 0
  let sequence = 0

  async function call(): Promise<void> {
    inFlight++
    const startMs = performance.now()
    const text = token.replace('{n}', () => String(sequence++).padStart(12, '0'))
    try {
      const headers = { authorization: `Bearer ${text}` }
      const { statusCode, body } = await pool.request({ path, method: 'GET', headers })
      await body.dump()
      if (statusCode === statusExpected) latenciesMs.push(performance.now() - startMs)
      else unexpected++
    } catch {
      unexpected++
    } finally {
      inFlight--
    }
  }

  const startMs = performance.now()
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  let sent = 0
  const timer = setInterval(() => {
    const passedSeconds = (performance.now() - startMs) / 1000
    for (const due = Math.min(passedSeconds, seconds) * callsPerSecond; sent < due; sent++) {
      if (inFlight < IN_FLIGHT_MAX) void call()
      else leftOut++
    }
    if (passedSeconds < seconds) return
    clearInterval(timer)
    end()
  }, TICK_MS)
  await over
  await pool.close()
  return { latenciesMs, unexpected, leftOut }
}
