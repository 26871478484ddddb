/**
 * The CORS headers of one setting, as lines (Fetch Standard, 3.3).
 *
 * They are written once per origin when a revision is compiled, so that nothing that a client sends is ever part of a response: an
 * origin is allowed if it equals one of the setting. `null`, the origin of sandboxed pages, is never allowed.
 */

import { EXPOSED_HEADERS, MAX_AGE_SECONDS, type CorsPlan } from '../../boundary/plan/cors.ts'

/** How the responses of a path depend on the page that sent the request. */
export interface CorsRules {
  /** Returns the lines of a response. `origin` is that of the request: undefined if it has none, `''` if it has several. */
  linesFor(origin: string | undefined): string
  /** Returns the lines of the answer to a preflight request. `methods` and `headers` are lists of what the path accepts. */
  preflightLines(origin: string | undefined, methods: string, headers: string): string
}

/** A cache must not give the response for one origin to another one, even if it has no other header of CORS. */
const VARY = 'Vary: Origin\r\n'
const NO_ORIGIN = 'null'
const ANY = '*'
const ANY_LINE = 'Access-Control-Allow-Origin: *\r\n'

/** Headers of the gateway that a page may read. */
const EXPOSED = ['Deprecation', ...EXPOSED_HEADERS, 'Sunset'].toSorted()

interface Allowed {
  /** That the origin is allowed. */
  readonly lines: string
  /** All lines of a response. */
  readonly response: string
}

export function createCorsRules({ origins, exposeHeaders = [], ...rest }: CorsPlan): CorsRules {
  const { credentials = false, maxAge = MAX_AGE_SECONDS } = rest
  const exposed = `Access-Control-Expose-Headers: ${[...EXPOSED, ...exposeHeaders].join(', ')}\r\n`
  // Joined, not copied: origins share the long part.
  const toAllowed = (lines: string): Allowed => ({ lines, response: VARY + lines + exposed })
  const every = origins === ANY ? toAllowed(ANY_LINE) : null
  const listed = origins === ANY ? [] : origins
  const byOrigin = new Map(listed.map((origin) => [origin, toAllowed(toLines(origin, credentials))]))

  function find(origin: string | undefined): Allowed | null {
    if (origin === undefined || origin === '' || origin === NO_ORIGIN) return null
    return every ?? byOrigin.get(origin) ?? null
  }

  return {
    linesFor: (origin) => find(origin)?.response ?? VARY,
    preflightLines(origin, methods, headers) {
      const allowed = find(origin)
      if (allowed === null || methods === '') return VARY
      const what = `Access-Control-Allow-Methods: ${methods}\r\nAccess-Control-Allow-Headers: ${headers}\r\n`
      return `${VARY}${allowed.lines}${what}Access-Control-Max-Age: ${maxAge}\r\n`
    },
  }
}

function toLines(origin: string, credentials: boolean): string {
  return `Access-Control-Allow-Origin: ${origin}\r\n${credentials ? 'Access-Control-Allow-Credentials: true\r\n' : ''}`
}
