/**
 * Which pages of other origins may call an API from a browser (CORS; Fetch Standard, 3.3): `x-tollgate-cors` of the document, or
 * `cors` in the policy of the API, which overrides it as a whole. Both have the same form and are read here.
 */

import { toOrigin } from '../../foundation/domain/origin.ts'
import type { ProblemPointer } from '../../foundation/domain/problem.ts'

export interface CorsPlan {
  /** As browsers send them; an empty list allows no page. */
  readonly origins: '*' | readonly string[]
  /** Lower-case names of request headers, beside those that are always allowed. */
  readonly headers?: readonly string[]
  /** Lower-case names of response headers, beside those of the gateway. */
  readonly exposeHeaders?: readonly string[]
  /** Whether a page may send cookies. */
  readonly credentials?: boolean
  /** For how long a browser may keep the answer to a preflight request; if it is missing, `MAX_AGE_SECONDS`. */
  readonly maxAge?: number
}

/** The same as it is written, in the policy or the document. */
export interface CorsSettings {
  readonly origins: string | readonly string[]
  readonly headers?: readonly string[]
  readonly exposeHeaders?: readonly string[]
  readonly credentials?: boolean
  readonly maxAge?: number
}

/** The members of a route plan. */
interface CorsSources {
  readonly policyCors?: CorsPlan
  readonly cors?: CorsPlan
}

export const MAX_AGE_SECONDS = 600
export const MAX_AGE_SECONDS_LIMIT = 86_400
export const CORS_ORIGINS_MAX = 100
export const CORS_HEADERS_MAX = 50

/** Headers of every answer of this service that a page may read. */
export const EXPOSED_HEADERS: readonly string[] = [
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-RU-Consumed',
  'X-RU-Cost',
  'X-RU-Limit',
  'X-RU-Period',
  'X-RU-Remaining',
]

const MEMBERS: readonly string[] = ['origins', 'headers', 'exposeHeaders', 'credentials', 'maxAge']
/** A field name (RFC 9110, 5.6.2). `*` is one, but as the only name it means any header. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const ORIGINS = `The value must be "*", or a list of at most ${CORS_ORIGINS_MAX} origins.`
const ORIGIN = 'The value must be an origin such as https://app.example: http or https, host and port, and no path.'
const HEADERS = `The value must be a list of at most ${CORS_HEADERS_MAX} names of headers.`
const CREDENTIALS = 'Credentials need a list of origins: with "*" every page could act for the people who visit it.'

/** Returns the effective setting of an API; null if it has none. */
export function corsOf({ policyCors, cors }: CorsSources): CorsPlan | null {
  return policyCors ?? cors ?? null
}

/** Reads a value at `pointer`. Returns undefined after a fault. */
export function readCorsPlan(value: unknown, pointer: string, faults: ProblemPointer[]): CorsPlan | undefined {
  const before = faults.length
  const fault = (at: string, detail: string): void => void faults.push({ pointer: pointer + at, detail })
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    fault('', 'The value must be an object with `origins`.')
    return undefined
  }
  const { origins, headers, exposeHeaders, credentials, maxAge } = value as Readonly<Record<string, unknown>>
  for (const name of Object.keys(value)) {
    if (!MEMBERS.includes(name)) fault(`/${escape(name)}`, `The members are ${MEMBERS.join(', ')}.`)
  }
  const plan = {
    origins: readOrigins(origins, fault),
    ...(headers !== undefined && { headers: readNames(headers, '/headers', fault) }),
    ...(exposeHeaders !== undefined && { exposeHeaders: readNames(exposeHeaders, '/exposeHeaders', fault) }),
    ...(credentials === true && { credentials }),
    ...(maxAge !== undefined && { maxAge: Number(maxAge) }),
  }
  if (credentials !== undefined && typeof credentials !== 'boolean')
    fault('/credentials', 'The value must be true or false.')
  if (credentials === true && plan.origins === '*') fault('/credentials', CREDENTIALS)
  if (maxAge !== undefined && !isMaxAge(maxAge))
    fault('/maxAge', `The value must be a number of seconds from 0 to ${MAX_AGE_SECONDS_LIMIT}.`)
  return faults.length === before ? plan : undefined
}

type Fault = (at: string, detail: string) => void

function readOrigins(value: unknown, fault: Fault): CorsPlan['origins'] {
  if (value === '*') return '*'
  if (!Array.isArray(value) || value.length > CORS_ORIGINS_MAX) {
    fault('/origins', ORIGINS)
    return []
  }
  const origins = value.map((text: unknown, index) => {
    const origin = typeof text === 'string' ? toOrigin(text) : null
    if (origin === null) fault(`/origins/${index}`, ORIGIN)
    return origin ?? ''
  })
  return [...new Set(origins)]
}

function readNames(value: unknown, at: string, fault: Fault): readonly string[] {
  if (!Array.isArray(value) || value.length > CORS_HEADERS_MAX) {
    fault(at, HEADERS)
    return []
  }
  value.forEach((name: unknown, index) => {
    if (typeof name === 'string' && NAME.test(name) && name !== '*') return
    fault(`${at}/${index}`, 'The value must be the name of a header; `*` is not supported.')
  })
  return [...new Set(value.map((name: unknown) => String(name).toLowerCase()))]
}

function isMaxAge(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_AGE_SECONDS_LIMIT
}

function escape(member: string): string {
  return member.slice(0, 128).replaceAll('~', '~0').replaceAll('/', '~1')
}
