/**
 * Traces of the calls of one gateway thread: joins the trace of the client or begins one, and decides whether the call is sampled.
 *
 * The decision is made once, when the call arrives. The backend gets it in `traceparent`, and the pipeline exports the spans of
 * sampled calls, so that both always agree. Span ids are derived from the request id (`call-trace.ts`).
 */

import { randomBytes } from 'node:crypto'
import type { TraceSampler } from '../../foundation/domain/trace-sampler.ts'
import type { AddressedRequest } from '../../foundation/runtime/client-address.ts'
import { CallTrace, clientSpanId, SAMPLED } from '../../storage/spool/call-trace.ts'
import { createTraceIds, isWithinRatio } from './trace-id.ts'
import { readTraceParent, readTraceState } from './trace-parent.ts'

/** The parts of a request that its trace names. */
export interface TracedRequest {
  readonly method?: string | undefined
  readonly httpVersionMinor: number
  readonly isHttp2?: boolean
  readonly socket: AddressedRequest['socket']
}

/** The trace headers of a client. */
export interface TraceHeaders {
  readonly traceParent: string
  readonly traceState: string
}

interface TracedCall {
  readonly trace: CallTrace | null
  readonly startedAt: number
}

export interface Tracer {
  /** `queryAt` is where the path ends in the target; -1: the target is not canonical, and is not kept. */
  begin(request: TracedRequest, headers: TraceHeaders, sequence: number, target: string, queryAt: number): CallTrace
}

export function createTracer(sampler: TraceSampler, requestPrefix: string): Tracer {
  const newTraceId = createTraceIds(requestPrefix, randomBytes(8))

  function join({ traceParent, traceState }: TraceHeaders, sequence: number): CallTrace {
    const parent = readTraceParent(traceParent)
    const ownId = newTraceId(sequence)
    if (parent === null) return new CallTrace(ownId, '', isWithinRatio(ownId, sampler.ratio) ? SAMPLED : 0, '')
    // A ratio of the client's ids would be no bound: the client could choose those that are sampled.
    const isSampled = sampler.isParentBased ? (parent.flags & SAMPLED) !== 0 : isWithinRatio(ownId, sampler.ratio)
    const flags = (parent.flags & ~SAMPLED) | (isSampled ? SAMPLED : 0)
    return new CallTrace(parent.traceId, parent.spanId, flags, readTraceState(traceState))
  }

  return {
    begin(request, headers, sequence, target, queryAt) {
      const trace = join(headers, sequence)
      if (!trace.isSampled) return trace
      trace.method = request.method ?? ''
      trace.path = queryAt < 0 ? '' : target.slice(0, queryAt)
      trace.scheme = request.socket.encrypted === true ? 'https' : 'http'
      trace.protocol = request.isHttp2 === true ? '2' : `1.${request.httpVersionMinor}`
      return trace
    },
  }
}

/** Returns the lines for the id of a call and for its trace. */
export function toTraceLines(requestId: string, { traceId, flags, traceState }: CallTrace): string {
  const state = traceState === '' ? '' : `tracestate: ${traceState}\r\n`
  return `X-Request-Id: ${requestId}\r\ntraceparent: 00-${traceId}-${clientSpanId(requestId)}-0${flags}\r\n${state}`
}

/** Notes an attempt at a backend; `path` is that of the request to it, with its query. */
export function noteAttempt(call: TracedCall, method: string, origin: string, path: string): void {
  const { trace } = call
  if (trace === null || !trace.isSampled) return
  if (trace.forwardedUs < 0) trace.forwardedUs = elapsedUs(call)
  else trace.resends++
  const queryAt = path.indexOf('?')
  trace.upstreamMethod = method
  trace.upstreamUrl = origin + (queryAt < 0 ? path : path.slice(0, queryAt))
  trace.upstreamStatus = 0
}

/** Notes the status of the backend. */
export function noteStatus({ trace }: TracedCall, status: number): void {
  if (trace !== null) trace.upstreamStatus = status
}

/** Notes that the call needs its backend no more. */
export function noteSettled(call: TracedCall): void {
  if (call.trace !== null) call.trace.settledUs = elapsedUs(call)
}

function elapsedUs({ startedAt }: TracedCall): number {
  return Math.max(0, Math.round((performance.now() - startedAt) * 1_000))
}
