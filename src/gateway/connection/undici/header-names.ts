/**
 * Adds the headers of the gateway to undici's table of well-known header names.
 *
 * undici validates the name of each header of each request, unless the table contains it. The names below are
 * constants, so validating them on each call is wasted time.
 *
 * undici does not export the table: `test/unit/gateway/connection/header-names.test.ts` fails if a release moves it.
 */

import { createRequire } from 'node:module'

/** Name as sent → name in lower case. */
type NameTable = Record<string, string>

const NAMES = [
  'CDN-Loop',
  'traceparent',
  'X-Agent-Id',
  'X-Consumer-Id',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-On-Behalf-Of',
  'X-Request-Id',
  'X-Subscription-Id',
]

const require = createRequire(import.meta.url)

/** Does nothing if undici keeps its table elsewhere. */
export function registerHeaderNames(): void {
  const table = findNameTable()
  if (table === null) return
  for (const name of NAMES) table[name] = table[name.toLowerCase()] = name.toLowerCase()
}

export function findNameTable(): NameTable | null {
  try {
    const { headerNameLowerCasedRecord } = require('undici/lib/core/constants.js') as {
      headerNameLowerCasedRecord?: NameTable
    }
    return headerNameLowerCasedRecord ?? null
  } catch {
    return null
  }
}
