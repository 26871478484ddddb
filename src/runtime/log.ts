/**
 * Structured logs on stderr; stdout stays for people.
 *
 * Credentials never reach a log: nothing logs headers or bodies, and the redaction below is the net
 * under that rule.
 */

import { pino, type Logger } from 'pino'

export type Log = Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const SECRETS = ['authorization', 'cookie', 'client_secret', 'clientSecret', 'apiKey', 'password', 'secret']

export function createLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: '[secret]' },
    },
    pino.destination({ dest: 2, sync: true }),
  )
}
