/**
 * Sends a call every few milliseconds to each of some targets, from a thread of its own, and measures the latencies.
 *
 * A latency counts from the time at which the call was due, so that a blocked server delays every call that falls in between.
 */

import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { Pool } from 'undici'
import { percentile } from './spread.ts'

export interface Target {
  readonly name: string
  readonly url: string
  readonly token: string
}

export interface Latencies {
  readonly calls: number
  readonly failed: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface LatencyProbe {
  /** Returns the latencies, by name of the target, of the calls that were due while `work` ran. */
  during<Result>(work: () => Promise<Result>): Promise<{ result: Result; latencies: Map<string, Latencies> }>
  stop(): Promise<void>
}

interface Sample {
  readonly name: string
  readonly ms: number
  readonly isFailed: boolean
}

const PERIOD_MS = 10
const CONNECTIONS = 16

export function startLatencyProbe(targets: readonly Target[]): LatencyProbe {
  const worker = new Worker(new URL(import.meta.url), { workerData: targets })
  const take = (): Promise<readonly Sample[]> => {
    const { promise, resolve } = Promise.withResolvers<readonly Sample[]>()
    worker.once('message', resolve)
    worker.postMessage('take')
    return promise
  }
  return {
    async during(work) {
      await take()
      const result = await work()
      const samples = await take()
      return { result, latencies: new Map(targets.map(({ name }) => [name, toLatencies(samples, name)])) }
    },
    stop: async () => void (await worker.terminate()),
  }
}

function toLatencies(samples: readonly Sample[], of: string): Latencies {
  const own = samples.filter(({ name }) => name === of)
  const sorted = own.map(({ ms }) => ms).sort((a, b) => a - b)
  return {
    calls: own.length,
    failed: own.filter(({ isFailed }) => isFailed).length,
    p50Ms: percentile(sorted, 50),
    p99Ms: percentile(sorted, 99),
    maxMs: sorted.at(-1) ?? NaN,
  }
}

function probe(targets: readonly Target[]): void {
  let samples: Sample[] = []
  let open = new Set<Promise<void>>()
  for (const { name, url, token } of targets) {
    const { origin, pathname } = new URL(url)
    const pool = new Pool(origin, { connections: CONNECTIONS })
    const send = async (dueMs: number): Promise<void> => {
      let isFailed = true
      try {
        const headers = { authorization: `Bearer ${token}` }
        const { statusCode, body } = await pool.request({ path: pathname, method: 'GET', headers })
        await body.dump()
        isFailed = statusCode !== 200
      } catch {
        // Counted as failed.
      }
      samples.push({ name, ms: performance.now() - dueMs, isFailed })
    }
    let dueMs = performance.now()
    setInterval(() => {
      for (; dueMs <= performance.now(); dueMs += PERIOD_MS) {
        const sent: Promise<void> = send(dueMs).finally(() => open.delete(sent))
        open.add(sent)
      }
    }, PERIOD_MS / 2)
  }
  parentPort?.on('message', () => {
    const due = open
    open = new Set()
    void Promise.all(due).then(() => {
      parentPort?.postMessage(samples)
      samples = []
    })
  })
}

if (!isMainThread) probe(workerData as readonly Target[])
