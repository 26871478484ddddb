/**
 * Structured logs on stderr; stdout is for human-readable output.
 *
 * Credentials never reach a log: no code logs headers or bodies, and the redaction below is a second line of defence. Repeated
 * warnings and errors are limited (`log-limit.ts`), so that an outage does not fill the disk or slow the process down. A failed
 * write of a log line never fails its caller.
 */

import { pino, type Logger } from 'pino'
import { systemClock } from './clock.ts'
import { createLogLimit, type LogLimit } from './log-limit.ts'
import { REDACTED, withoutUrlSecrets } from './log-secrets.ts'
import type { LogTap } from './log-tap.ts'

export type Log = Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const WARN = 40
const FATAL = 60
const SWEEP_EVERY_MS = 1_000
/** Fields that differ between two reports of one fault. */
const VOLATILE = new Set(['err', 'requestId', 'attempt', 'items', 'times', 'detail', 'programme', 'delivery', 'due'])

export interface LogOptions {
  readonly destination?: { write(line: string): void }
  readonly limit?: LogLimit
  /** Receives each line as well. */
  readonly tap?: Pick<LogTap, 'write'> | null
}

export function createLog(level: LogLevel, options: LogOptions = {}): Log {
  const { destination = quietly(pino.destination({ dest: 2, sync: true })) } = options
  const { tap = null } = options
  const limit = options.limit ?? createLogLimit(systemClock)
  // `unref`: unlike the timers of `Clock`, this one must not keep the process alive.
  if (options.limit === undefined && level !== 'silent') setInterval(limit.sweep, SWEEP_EVERY_MS).unref()
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: REDACTED,
      hooks: {
        logMethod(given, method, levelNumber) {
          const [fields, message] = given as unknown as [unknown, string | undefined]
          if (levelNumber < WARN || levelNumber >= FATAL || !isFields(fields)) return method.apply(this, given)
          limit.limit(keyOf(levelNumber, fields, message), (repeated) => {
            const all = repeated === 0 ? fields : { ...fields, repeated }
            method.apply(this, [all, message] as unknown as typeof given)
          })
        },
      },
    },
    cleaned(tap === null ? destination : tapped(destination, tap)),
  )
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Key of a log line: lines about the same fault are equal, regardless of the call or attempt. */
function keyOf(level: number, fields: Readonly<Record<string, unknown>>, message = ''): string {
  const stable = Object.entries(fields).filter(([name]) => !VOLATILE.has(name))
  return JSON.stringify([level, message, causeOf(fields['err']), stable])
}

/** Names and codes of an error and its causes, without messages, which contain paths and request ids. */
function causeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error
  const { name, code, cause } = error as NodeJS.ErrnoException
  return [name, code, ...(cause === undefined ? [] : [causeOf(cause)])]
}

function cleaned(destination: { write(line: string): void }): { write(line: string): void } {
  return { write: (line) => destination.write(withoutUrlSecrets(line)) }
}

function tapped(destination: { write(line: string): void }, tap: Pick<LogTap, 'write'>): { write(line: string): void } {
  return {
    write(line) {
      destination.write(line)
      tap.write(line)
    },
  }
}

/** Ignores write errors: on a full disk or a closed pipe the line is lost and the service continues. */
function quietly(destination: ReturnType<typeof pino.destination>): { write(line: string): void } {
  destination.on('error', () => {})
  return {
    write(line) {
      try {
        destination.write(line)
      } catch {}
    },
  }
}
