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
}

export interface LoadResult {
  readonly calls: number
  readonly callsPerSecond: number
  readonly failed: number
  readonly p99Ms: number
}

const run = promisify(execFile)

export async function load({ url, token, connections, seconds, script }: LoadOptions): Promise<LoadResult> {
  const { stdout } = await run('wrk', [
    '--threads=1',
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    '--latency',
    `--header=Authorization: Bearer ${token}`,
    ...(script === undefined ? [] : [`--script=${script}`]),
    url,
  ])
  const read = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? 0)
  const sockets = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)
  return {
    calls: read(/(\d+) requests in/),
    callsPerSecond: read(/Requests\/sec:\s+([\d.]+)/),
    failed: read(/Non-2xx or 3xx responses: (\d+)/) + (sockets?.slice(1).reduce((sum, n) => sum + Number(n), 0) ?? 0),
    p99Ms: toMs(/99%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
  }
}

function toMs(match: RegExpExecArray | null): number {
  const unit = match?.[2] === 'us' ? 0.001 : match?.[2] === 's' ? 1000 : 1
  return Number(match?.[1] ?? NaN) * unit
}
