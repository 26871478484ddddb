/**
 * The spans of a sampled call, by the stable semantic conventions for HTTP: one of the gateway as a server, and one as a client of the
 * backend if the call was forwarded.
 *
 * No span has a query string, a header, a body or a person. Names of consumers are left out as well; their ids are there.
 */

import type { CallRecord } from '../../storage/spool/call-record.ts'
import { clientSpanId, serverSpanId, type StoredTrace } from '../../storage/spool/call-trace.ts'
import { IS_UNANSWERED, OUTCOMES } from '../../foundation/domain/outcome.ts'
import { OTHER_METHOD, routeOf, sentStatus, serverError, toMethod } from './http-attributes.ts'
import { toHrTime } from './hr-time.ts'
import type { Origin } from './origin.ts'
import { createTraceState } from './trace-state.ts'

export interface TracedCall {
  readonly record: CallRecord
  readonly requestId: string
  readonly trace: StoredTrace
}

type Value = string | number
export type Attributes = Record<string, Value>

/** The public address of the gateway. */
export interface ServerAddress {
  readonly address: string
  readonly port: number
}

interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
  readonly traceState?: ReturnType<typeof createTraceState>
  readonly isRemote?: boolean
}

/** A finished span, as the serializers take it. */
export interface CallSpan extends Origin {
  readonly name: string
  readonly kind: 1 | 2
  readonly spanContext: () => SpanContext
  readonly parentSpanContext?: SpanContext
  readonly startTime: [number, number]
  readonly endTime: [number, number]
  readonly duration: [number, number]
  readonly status: { readonly code: 0 | 2 }
  readonly attributes: Attributes
  readonly links: []
  readonly events: []
  readonly ended: true
  readonly droppedAttributesCount: 0
  readonly droppedEventsCount: 0
  readonly droppedLinksCount: 0
}

const SERVER = 1
const CLIENT = 2
const UNSET = 0
const ERROR = 2
const CLIENT_ERROR_MIN = 400

export function serverSpan(call: TracedCall, server: ServerAddress, origin: Origin): CallSpan {
  const { record, trace } = call
  const { method, path, scheme, protocol, parentId } = trace
  const { route } = routeOf(record.attribution)
  const status = sentStatus(record.status, record.outcome)
  const error = serverError(record.status, record.outcome)
  const attributes = {
    ...methodAttributes(method),
    ...(path !== '' && { 'url.path': path }),
    'url.scheme': scheme,
    ...(route !== null && { 'http.route': route }),
    ...(status !== null && { 'http.response.status_code': status }),
    ...(error !== null && { 'error.type': error }),
    'network.protocol.version': protocol,
    'server.address': server.address,
    'server.port': server.port,
    ...ownAttributes(record),
  }
  return toSpan(call, origin, {
    kind: SERVER,
    name: nameOf(method, route),
    spanId: serverSpanId(call.requestId),
    ...(parentId !== '' && { parent: { spanId: parentId, isRemote: true } }),
    fromUs: 0,
    toUs: record.durationUs,
    isError: error !== null,
    attributes,
  })
}

/** Returns null if the call was not forwarded. */
export function clientSpan(call: TracedCall, origin: Origin): CallSpan | null {
  const { record, trace, requestId } = call
  const { forwardedUs, settledUs, resends, upstreamMethod, upstreamStatus, upstreamUrl } = trace
  if (forwardedUs < 0) return null
  const error =
    IS_UNANSWERED[record.outcome] === true
      ? OUTCOMES[record.outcome]!
      : upstreamStatus >= CLIENT_ERROR_MIN
        ? String(upstreamStatus)
        : null
  const attributes = {
    ...methodAttributes(upstreamMethod),
    ...addressOf(upstreamUrl),
    ...(upstreamStatus !== 0 && { 'http.response.status_code': upstreamStatus }),
    ...(error !== null && { 'error.type': error }),
    ...(resends > 0 && { 'http.request.resend_count': resends }),
    'network.protocol.version': '1.1',
    ...ownAttributes(record),
  }
  return toSpan(call, origin, {
    kind: CLIENT,
    name: nameOf(upstreamMethod, null),
    spanId: clientSpanId(requestId),
    parent: { spanId: serverSpanId(requestId), isRemote: false },
    fromUs: Math.min(forwardedUs, record.durationUs),
    toUs: settledUs < forwardedUs ? record.durationUs : settledUs,
    isError: error !== null,
    attributes,
  })
}

interface SpanFields {
  readonly kind: 1 | 2
  readonly name: string
  readonly spanId: string
  readonly parent?: { readonly spanId: string; readonly isRemote: boolean }
  /** From the arrival of the request. */
  readonly fromUs: number
  readonly toUs: number
  readonly isError: boolean
  readonly attributes: Attributes
}

function toSpan({ record, trace }: TracedCall, origin: Origin, fields: SpanFields): CallSpan {
  const { kind, name, spanId, parent, fromUs, toUs, isError, attributes } = fields
  const arrivedMs = record.timeMs - record.durationUs / 1_000
  const context = {
    traceId: trace.traceId,
    traceFlags: trace.flags,
    ...(trace.traceState !== '' && { traceState: createTraceState(trace.traceState) }),
  }
  return {
    ...origin,
    name,
    kind,
    spanContext: () => ({ ...context, spanId }),
    ...(parent !== undefined && { parentSpanContext: { ...context, ...parent } }),
    startTime: toHrTime(arrivedMs + fromUs / 1_000),
    endTime: toHrTime(arrivedMs + toUs / 1_000),
    duration: toHrTime((toUs - fromUs) / 1_000),
    status: { code: isError ? ERROR : UNSET },
    attributes,
    links: [],
    events: [],
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function nameOf(method: string, route: string | null): string {
  const known = toMethod(method)
  const first = known === OTHER_METHOD ? 'HTTP' : known
  return route === null ? first : `${first} ${route}`
}

/** The original method, which the client chose, was escaped and cut when it was stored. */
function methodAttributes(method: string): Attributes {
  const known = toMethod(method)
  const isChanged = known === OTHER_METHOD && method !== ''
  return { 'http.request.method': known, ...(isChanged && { 'http.request.method_original': method }) }
}

function ownAttributes({ attribution, outcome }: CallRecord): Attributes {
  const { tenant, api, operation, consumer, subscription, agent, revision } = attribution
  return {
    'tollgate.tenant': tenant,
    'tollgate.api': api,
    ...(revision !== undefined && { 'tollgate.revision': revision }),
    ...(operation !== '' && { 'tollgate.operation': operation }),
    'tollgate.outcome': OUTCOMES[outcome] ?? String(outcome),
    ...(consumer !== '' && { 'tollgate.consumer.id': consumer }),
    ...(subscription !== '' && { 'tollgate.subscription.id': subscription }),
    ...(agent !== '' && { 'tollgate.agent.id': agent }),
  }
}

function addressOf(text: string): Attributes {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return {}
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  return { 'server.address': url.hostname.replace(/^\[|\]$/g, ''), 'server.port': port, 'url.full': text }
}
