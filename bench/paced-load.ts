/**
 * Calls at a steady pace from wrk, which costs next to nothing itself: connections that rest between
 * their calls. A slow gateway gets a little relief from it, since a connection waits for its answer
 * first; the pace that was reached is part of the result.
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { latencyMs } from './load.ts'

export interface PacedLoadOptions {
  readonly url: string
  /** In it `{n}` is another number at each call. */
  readonly token: string
  readonly callsPerSecond: number
  readonly seconds: number
}

export interface PacedResult {
  readonly calls: number
  readonly callsPerSecond: number
  readonly failed: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const PAUSE_MS = 20
const run = promisify(execFile)

export async function runPaced({ url, token, callsPerSecond, seconds }: PacedLoadOptions): Promise<PacedResult> {
  const connections = Math.round((callsPerSecond * PAUSE_MS) / 1000)
  const { stdout } = await run(
    'wrk',
    [
      '--threads=1',
      `--connections=${connections}`,
      `--duration=${seconds}s`,
      '--latency',
      '--script',
      join(import.meta.dirname, 'paced.lua'),
      url,
    ],
    { env: { ...process.env, TOKEN: token, PAUSE_MS: String(PAUSE_MS), CONNECTIONS: String(connections) } },
  )
  const read = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? 0)
  return {
    calls: read(/(\d+) requests in/),
    callsPerSecond: read(/Requests\/sec:\s+([\d.]+)/),
    failed: read(/Non-2xx or 3xx responses: (\d+)/),
    p50Ms: latencyMs(stdout, 50),
    p99Ms: latencyMs(stdout, 99),
  }
}
