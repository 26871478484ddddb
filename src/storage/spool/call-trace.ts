/**
 * The part of a span that the record of its call lacks: the trace that the call belongs to, and the request to the backend.
 *
 * Made only while traces are exported, and stored as a line of text beside the record of a sampled call. It has no query string, no
 * header besides the trace's own, no credential and no body.
 */

/** The fields of a stored trace; a call that was not forwarded has neither of the upstream fields. */
export interface StoredTrace {
  /** 32 hex digits. */
  readonly traceId: string
  /** Span of the client, 16 hex digits; `''`: the trace begins with this call. */
  readonly parentId: string
  /** Flags of W3C Trace Context, as the backend got them. */
  readonly flags: number
  /** `tracestate` as the backend got it; `''` if there is none. */
  readonly traceState: string
  readonly method: string
  /** Path without the query; `''` if the target was not canonical. */
  readonly path: string
  readonly scheme: string
  /** Version of HTTP: `1.0`, `1.1` or `2`. */
  readonly protocol: string
  /** From the arrival of the request to the first attempt at the backend; -1: not forwarded. */
  readonly forwardedUs: number
  /** From the arrival of the request to the end of the backend's response; -1: not forwarded. */
  readonly settledUs: number
  /** Attempts after the first one. */
  readonly resends: number
  readonly upstreamMethod: string
  /** Status of the backend; 0: it has not answered. */
  readonly upstreamStatus: number
  /** Address of the last attempt without the query. */
  readonly upstreamUrl: string
}

export const SAMPLED = 1
/** Longest stored texts, in characters of their escaped form. Longer ones are cut. */
const LONGEST = { path: 1_024, url: 1_024, state: 512 }
/** The same for a call that belongs to no subscription: what anyone can cause must be short. */
const LONGEST_OF_STRANGER = { path: 64, url: 256, state: 128 }
const METHOD_MAX = 32
const NONE = '-'
const FIELDS = 14
/** Number of the field `forwardedUs`. */
const FORWARDED_AT = 8

/** The trace of a call in progress; the gateway writes the fields of the backend as the call reaches it. */
export class CallTrace implements StoredTrace {
  readonly traceId: string
  readonly parentId: string
  readonly flags: number
  readonly traceState: string
  /** Written for a sampled call, as the three below. */
  method = ''
  path = ''
  scheme = ''
  protocol = ''
  forwardedUs = -1
  settledUs = -1
  resends = 0
  upstreamMethod = ''
  upstreamStatus = 0
  upstreamUrl = ''

  constructor(traceId: string, parentId: string, flags: number, traceState: string) {
    this.traceId = traceId
    this.parentId = parentId
    this.flags = flags
    this.traceState = traceState
  }

  get isSampled(): boolean {
    return (this.flags & SAMPLED) !== 0
  }
}

/** Span id of the request to the backend: the second half of what all request ids of a thread begin with, and the number of the call. */
export function clientSpanId(requestId: string): string {
  return requestId.slice(8)
}

/** Span id of the call itself: the first half, and the number of the call. */
export function serverSpanId(requestId: string): string {
  const [first, second, number] = [requestId.slice(0, 8), requestId.slice(8, 16), requestId.slice(16)]
  return first === second ? number + first : first + number
}

/** `isStranger`: the call belongs to no subscription. */
export function toTraceText(trace: StoredTrace, isStranger = false): string {
  const { traceId, parentId, flags, traceState, method, path, scheme, protocol } = trace
  const { forwardedUs, settledUs, resends, upstreamMethod, upstreamStatus, upstreamUrl } = trace
  const longest = isStranger ? LONGEST_OF_STRANGER : LONGEST
  const state = forwardedUs < 0 ? '' : wholeState(traceState, longest.state)
  const client = [traceId, parentId || NONE, flags, state || NONE, visible(method, METHOD_MAX) || NONE]
  const request = [visible(path, longest.path) || NONE, scheme, protocol]
  const backend = [
    forwardedUs,
    settledUs,
    resends,
    visible(upstreamMethod, METHOD_MAX) || NONE,
    upstreamStatus,
    visible(upstreamUrl, longest.url) || NONE,
  ]
  return [...client, ...request, ...backend].join(' ')
}

/** Number of spans that the text of a trace stands for: a forwarded call has one for the request to the backend as well. */
export function countSpans(text: string): number {
  return Number(text.split(' ', FORWARDED_AT + 1)[FORWARDED_AT]) >= 0 ? 2 : 1
}

/** Returns null if the text is not a trace. */
export function readTraceText(text: string): StoredTrace | null {
  const fields = text.split(' ')
  if (fields.length !== FIELDS) return null
  const [traceId, parentId, flags, state, method, path, scheme, protocol, ...backend] = fields.map((field) =>
    field === NONE ? '' : field,
  ) as [string, string, string, string, string, string, string, string, ...string[]]
  const [forwardedUs, settledUs, resends, upstreamMethod, upstreamStatus, upstreamUrl] = backend as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const numbers = [flags, forwardedUs, settledUs, resends, upstreamStatus].map(Number)
  if (!/^[0-9a-f]{32}$/.test(traceId) || !/^(?:[0-9a-f]{16})?$/.test(parentId)) return null
  if (!numbers.every(Number.isSafeInteger)) return null
  const traceState = decode(state)
  if (traceState === null) return null
  return {
    traceId,
    parentId,
    flags: numbers[0]!,
    traceState,
    method,
    path,
    scheme,
    protocol,
    forwardedUs: numbers[1]!,
    settledUs: numbers[2]!,
    resends: numbers[3]!,
    upstreamMethod,
    upstreamStatus: numbers[4]!,
    upstreamUrl,
  }
}

/**
 * Escapes what is not visible ASCII, and what JSON would escape, so that the length of the text is that of its bytes. A text that is
 * too long afterwards is cut, in front of an escape that does not fit.
 */
function visible(text: string, max: number): string {
  const escaped = text.slice(0, max).replace(/[^!#-[\]-~]/gu, toEscapes)
  return escaped.length > max ? escaped.slice(0, max).replace(/%[\dA-F]?$/, '') : escaped
}

function toEscapes(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
}

/** Returns `''` if the text is too long: a part of it may be malformed. */
function wholeState(state: string, max: number): string {
  const escaped = state.replace(/[^!#$&-[\]-~]/gu, toEscapes)
  return escaped.length > max ? '' : escaped
}

function decode(state: string): string | null {
  try {
    return decodeURIComponent(state)
  } catch {
    return null
  }
}
