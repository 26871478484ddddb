/**
 * Structured logs on stderr; stdout stays for people.
 *
 * Credentials never reach a log: nothing logs headers or bodies, and the redaction below is the net
 * under that rule. Warnings and errors that repeat are limited (`log-limit.ts`): an outage must not fill
 * the disk, or keep the process from its work. A log that cannot be written never fails its caller.
 */

import { pino, type Logger } from 'pino'
import { systemClock } from './clock.ts'
import { createLogLimit, type LogLimit } from './log-limit.ts'

export type Log = Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const SECRETS = ['authorization', 'cookie', 'client_secret', 'clientSecret', 'apiKey', 'password', 'secret']
const WARN = 40
const FATAL = 60
const SWEEP_EVERY_MS = 1_000
/** Fields that differ between two reports of one fault. */
const VOLATILE = new Set(['err', 'requestId', 'attempt', 'items', 'times', 'detail', 'programme', 'delivery', 'due'])

export interface LogOptions {
  readonly destination?: { write(line: string): void }
  readonly limit?: LogLimit
}

export function createLog(level: LogLevel, options: LogOptions = {}): Log {
  const { destination = quietly(pino.destination({ dest: 2, sync: true })) } = options
  const limit = options.limit ?? createLogLimit(systemClock)
  // Without keeping the process alive, which the clock's timers would.
  if (options.limit === undefined && level !== 'silent') setInterval(limit.sweep, SWEEP_EVERY_MS).unref()
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: '[secret]' },
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
    destination,
  )
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Two lines are the same if they say the same of the same thing, whatever call or attempt they came from. */
function keyOf(level: number, fields: Readonly<Record<string, unknown>>, message = ''): string {
  const told = Object.entries(fields).filter(([name]) => !VOLATILE.has(name))
  return JSON.stringify([level, message, causeOf(fields['err']), told])
}

/** What kind of error it is, down to the first cause: messages name paths and requests. */
function causeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error
  const { name, code, cause } = error as NodeJS.ErrnoException
  return [name, code, ...(cause === undefined ? [] : [causeOf(cause)])]
}

/** A log on a full disk, or into a closed pipe, is lost; the service goes on. */
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
