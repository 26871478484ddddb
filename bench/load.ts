/** wrk as the source of calls: it counts them, and says how many did not answer 2xx. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface LoadOptions {
  readonly url: string
  readonly token: string
  readonly connections: number
  readonly seconds: number
  /** A script that makes the requests. */
  readonly script?: string
  /** Further headers, such as `Connection: close`. */
  readonly headers?: readonly string[]
}

export interface LoadResult {
  readonly calls: number
  readonly callsPerSecond: number
  readonly failed: number
  readonly p99Ms: number
}

const run = promisify(execFile)

export async function load(options: LoadOptions): Promise<LoadResult> {
  const { url, token, connections, seconds, script, headers = [] } = options
  const { stdout } = await run('wrk', [
    '--threads=1',
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    '--latency',
    ...[`Authorization: Bearer ${token}`, ...headers].map((header) => `--header=${header}`),
    ...(script === undefined ? [] : [`--script=${script}`]),
    url,
  ])
  const read = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? 0)
  const sockets = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)
  return {
    calls: read(/(\d+) requests in/),
    callsPerSecond: read(/Requests\/sec:\s+([\d.]+)/),
    failed: read(/Non-2xx or 3xx responses: (\d+)/) + (sockets?.slice(1).reduce((sum, n) => sum + Number(n), 0) ?? 0),
    p99Ms: latencyMs(stdout, 99),
  }
}

/** Returns a percentile from the latency distribution that wrk prints. */
export function latencyMs(stdout: string, percent: number): number {
  const [, text = 'NaN', unit = 'ms'] = new RegExp(`${percent}%\\s+([\\d.]+)(us|ms|s|m)\\b`).exec(stdout) ?? []
  return Number(text) * { us: 0.001, ms: 1, s: 1_000, m: 60_000 }[unit as 'us' | 'ms' | 's' | 'm']
}
