/**
 * The headers that the gateway adds to every call, made known to undici.
 *
 * undici checks the name of each header of each request, unless it is in its table of well-known names.
 * The names below are constants; in that table they cost a call nothing.
 *
 * The table is no export of undici: `test/unit/gateway/backend/upstream-names.test.ts` fails if a release moves it.
 */

import { createRequire } from 'node:module'

/** Name as it is sent → name in lower case. */
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

/** Does nothing where undici keeps its table elsewhere. */
export function makeNamesKnown(): void {
  const table = tableOfNames()
  if (table === null) return
  for (const name of NAMES) table[name] = table[name.toLowerCase()] = name.toLowerCase()
}

export function tableOfNames(): NameTable | null {
  try {
    const { headerNameLowerCasedRecord } = require('undici/lib/core/constants.js') as {
      headerNameLowerCasedRecord?: NameTable
    }
    return headerNameLowerCasedRecord ?? null
  } catch {
    return null
  }
}
