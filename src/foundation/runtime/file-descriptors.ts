/**
 * Divides the file descriptors at startup, so that clients cannot exhaust those of the platform, the spool and the store.
 *
 * Each listener accepts, and each gateway thread opens, only as many connections as its share allows; further connections are refused
 * immediately. A reserve is never used for connections. Node raises the soft limit to the hard limit at startup.
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Log } from './log.ts'
import { StartRefused } from './start-refused.ts'

/** Maximum numbers of open connections. */
export interface ConnectionShares {
  /** From clients, of one gateway thread. */
  readonly clients: number
  /** To backends, of one gateway thread. */
  readonly backends: number
  /** To each port of the platform. */
  readonly platform: number
}

/** Reserve: 80 files of an idle process, 64 segments that are read, webhooks (256), parts of the store. */
const RESERVED = 512
/** Event loop and segment of a thread. */
const RESERVED_PER_THREAD = 24
const CLIENTS_MAX = 20_000
const CLIENTS_MIN = 32
const BACKENDS_MAX = 4_096
/** 10,000 readers of the risk stream, and calls beside them. */
const PLATFORM_MAX = 11_000

/** Throws `StartRefused` if the limit is too low for a minimum of clients. Logs a warning if it is below the need of the settings. */
export function claimConnections(threads: number, log: Log): ConnectionShares {
  const limit = openFilesLimit()
  const shares = shareConnections(limit, threads)
  if (shares.clients < CLIENTS_MIN) {
    throw new StartRefused(
      `the limit of open files is ${limit}; ${threads} gateway threads need ${minimumFor(threads)} at least and ${neededFor(threads)} ` +
        `for all their connections; ${remedyFor(threads)}`,
    )
  }
  if (shares.clients < CLIENTS_MAX) {
    log.warn(
      { limit, needed: neededFor(threads), ...shares },
      `the limit of open files is ${limit}: each gateway thread takes ${shares.clients} connections instead of ${CLIENTS_MAX}; ` +
        remedyFor(threads),
    )
  }
  return shares
}

/** Assigns a quarter to the platform, then a quarter of the rest to backends, each up to its maximum. */
export function shareConnections(limit: number, threads: number): ConnectionShares {
  const free = Math.max(0, limit - reservedFor(threads))
  const platform = Math.min(PLATFORM_MAX, Math.floor(free / 4))
  const ofThread = Math.floor((free - platform) / threads)
  const backends = Math.min(BACKENDS_MAX, Math.floor(ofThread / 4))
  return { clients: Math.min(CLIENTS_MAX, ofThread - backends), backends, platform }
}

/** Returns Infinity if there is no limit, or if it cannot be determined. */
export function openFilesLimit(): number {
  const text =
    process.platform === 'linux' ? fromProc() : spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).stdout
  return /^\d+$/.test(text.trim()) ? Number(text) : Infinity
}

function fromProc(): string {
  return /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? ''
}

function reservedFor(threads: number): number {
  return RESERVED + RESERVED_PER_THREAD * threads
}

function neededFor(threads: number): number {
  return reservedFor(threads) + PLATFORM_MAX + threads * (CLIENTS_MAX + BACKENDS_MAX)
}

/** The platform's quarter, and a quarter of the rest for backends, leave nine of sixteen for clients. */
function minimumFor(threads: number): number {
  return reservedFor(threads) + Math.ceil((threads * (CLIENTS_MIN + 1) * 16) / 9)
}

function remedyFor(threads: number): string {
  const needed = neededFor(threads)
  return `raise it with: ulimit -n ${needed} (systemd: LimitNOFILE=${needed}, Docker: --ulimit nofile=${needed})`
}
