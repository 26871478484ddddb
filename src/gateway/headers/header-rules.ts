/**
 * The rule for each header of a request or a response that passes through the gateway.
 *
 * - Hop-by-hop headers are removed (RFC 9110, 7.6.1), and so are credentials.
 * - Names that the gateway itself sends to the backend are never accepted from a client, so that no caller can impersonate
 *   another one.
 * - Backends in the tradition of CGI treat an underscore as a dash. A name with underscores is therefore removed if its form
 *   with dashes is one of the names below or a content header.
 *
 * Lookups use the name as it was sent; the table caches spellings up to a bound.
 */

import { createHostCheck } from '../../foundation/domain/framing.ts'
import { comparedName } from '../../boundary/plan/header-names.ts'

export const PASS = 0
export const DROP = 1
export const AUTHORIZATION = 2
export const API_KEY = 3
export const CONTENT_TYPE = 4
export const CONTENT_LENGTH = 5
export const TRANSFER_ENCODING = 6
export const CONNECTION = 7
export const HOST = 8
export const COOKIE = 9
export const VIA = 10
export const CDN_LOOP = 11
/** Forwarded only if the document lists the name in `x-tollgate-pass-headers`. */
export const OVERRIDE = 12
export const CONTENT_ENCODING = 13
export const EXPECT = 14
export const DATE = 15
export const ORIGIN = 16
/** `Access-Control-Request-Method`, which only preflight requests have. */
export const REQUEST_METHOD = 17
/** `traceparent` and `tracestate`, which are read while traces are exported. */
export const TRACE_PARENT = 18
export const TRACE_STATE = 19

const REQUEST: Readonly<Record<string, number>> = {
  authorization: AUTHORIZATION,
  'x-api-key': API_KEY,
  'content-type': CONTENT_TYPE,
  'content-length': CONTENT_LENGTH,
  'transfer-encoding': TRANSFER_ENCODING,
  connection: CONNECTION,
  host: HOST,
  cookie: COOKIE,
  via: VIA,
  'cdn-loop': CDN_LOOP,
  'x-http-method-override': OVERRIDE,
  'x-method-override': OVERRIDE,
  'x-http-method': OVERRIDE,
  'x-original-url': OVERRIDE,
  'x-rewrite-url': OVERRIDE,
  'keep-alive': DROP,
  'proxy-authenticate': DROP,
  'proxy-authorization': DROP,
  'proxy-connection': DROP,
  te: DROP,
  trailer: DROP,
  trailers: DROP,
  upgrade: DROP,
  'http2-settings': DROP,
  expect: EXPECT,
  origin: ORIGIN,
  'access-control-request-method': REQUEST_METHOD,
  forwarded: DROP,
  'x-real-ip': DROP,
  'x-consumer-id': DROP,
  'x-subscription-id': DROP,
  'x-agent-id': DROP,
  'x-on-behalf-of': DROP,
  'x-request-id': DROP,
  'client-cert': DROP,
  'client-cert-chain': DROP,
  traceparent: TRACE_PARENT,
  tracestate: TRACE_STATE,
}

const RESPONSE: Readonly<Record<string, number>> = {
  connection: CONNECTION,
  date: DATE,
  'content-length': CONTENT_LENGTH,
  'content-type': CONTENT_TYPE,
  'content-encoding': CONTENT_ENCODING,
  'transfer-encoding': TRANSFER_ENCODING,
  'keep-alive': DROP,
  'proxy-authenticate': DROP,
  'proxy-authorization': DROP,
  'proxy-connection': DROP,
  te: DROP,
  trailer: DROP,
  upgrade: DROP,
  ratelimit: DROP,
  'ratelimit-policy': DROP,
  'x-request-id': DROP,
  'x-ru-limit': DROP,
  'x-ru-remaining': DROP,
  'x-ru-cost': DROP,
  'x-ru-consumed': DROP,
  'x-ru-period': DROP,
}

/** Only the gateway says how a call came: backends believe `X-Forwarded-User`, too. */
const FORWARDED_PREFIX = 'x-forwarded-'
/** Headers of a backend that the CORS setting of an API replaces. */
const CORS_PREFIX = 'access-control-'

/** Reserved in names that are not spelled with dashes. */
const RESERVED_PREFIXES = ['content-', FORWARDED_PREFIX]

const SPELLINGS_MAX = 2_048

export interface HeaderRules {
  /** Returns one of the constants above. */
  of(name: string): number
}

export interface ResponseRules {
  /** For an API without a CORS setting: the backend has its own. */
  readonly withoutCors: HeaderRules
  readonly withCors: HeaderRules
}

export interface RequestRules extends HeaderRules {
  isValidHost(value: string): boolean
}

export const createRequestRules = (): RequestRules => ({
  ...createRules(REQUEST, FORWARDED_PREFIX),
  isValidHost: createHostCheck(),
})
export const createResponseRules = (): ResponseRules => ({
  withoutCors: createRules(RESPONSE),
  withCors: createRules(RESPONSE, CORS_PREFIX),
})

/** Drops names that begin with `dropped`. */
function createRules(known: Readonly<Record<string, number>>, dropped: string | null = null): HeaderRules {
  const spellings = new Map(Object.entries(known))

  return {
    of(name) {
      const rule = spellings.get(name)
      if (rule !== undefined) return rule
      const lower = name.toLowerCase()
      const computed = dropped !== null && lower.startsWith(dropped) ? DROP : ruleOf(known, lower)
      if (spellings.size < SPELLINGS_MAX) spellings.set(name, computed)
      return computed
    },
  }
}

function ruleOf(known: Readonly<Record<string, number>>, lower: string): number {
  const compared = comparedName(lower)
  if (compared !== lower) return ruleOfOddName(compared)
  return Object.hasOwn(known, lower) ? known[lower]! : PASS
}

function ruleOfOddName(dashed: string): number {
  const isReserved = Object.hasOwn(REQUEST, dashed) || Object.hasOwn(RESPONSE, dashed)
  return isReserved || RESERVED_PREFIXES.some((prefix) => dashed.startsWith(prefix)) ? DROP : PASS
}
