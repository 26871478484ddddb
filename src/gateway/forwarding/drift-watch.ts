/**
 * Holds what passes against the published contract: statuses and media types of every answer, bodies in
 * samples, and requests of known callers for operations that are not declared.
 *
 * The first of each kind is always told; then at most one a second of a kind, so that what is told is
 * bounded by the contract and not by traffic. A sampled body is copied by reference, and looked at after
 * its answer has left. Samples are bounded in size, and a thread takes so many a second.
 */

import type { Attribution } from '../../domain/attribution.ts'
import type { Drift } from '../../domain/drift.ts'
import { outcomeIndex } from '../../domain/outcome.ts'
import type { SpoolWriter } from '../../record/spool-writer.ts'
import type { Call } from '../call/call.ts'
import type { DeclaredResponse } from '../validation/declared-responses.ts'
import { parseJsonBody } from '../validation/json-body.ts'
import type { CompiledOperation } from '../call/revision.ts'
import type { Check } from '../validation/schema-compiler.ts'
import type { CountEvent } from '../../runtime/event-reasons.ts'

export interface DriftWatch {
  /** Looks at the head of an answer. What it returns wants to see the body. */
  head(call: Call, operation: CompiledOperation, status: number, headers: AnswerHeaders): BodySample | null
  /** A known caller asked for what the API does not declare; its attribution is that of the call. */
  operation(call: Call): void
}

export interface AnswerHeaders {
  readonly [name: string]: string | string[] | undefined
}

/** Collects a body as it passes. */
export interface BodySample {
  add(chunk: Buffer): void
  /** The answer is whole. */
  end(): void
}

export interface DriftWatchOptions {
  readonly spool: Pick<SpoolWriter, 'append'>
  readonly tell: (drift: Drift) => void
  readonly count: CountEvent
  readonly nowMs: () => number
  /** For a fault while a sampled body is judged, when its call is over. */
  readonly onFault: (cause: unknown) => void
}

const TELL_EVERY_MS = 1_000
const SAMPLE_EVERY_MS = 1_000
const SAMPLES_PER_SECOND_MAX = 20
const SAMPLE_BYTES_MAX = 65_536
/** Statuses and callers that are remembered; beyond them nothing new is told for a while. */
const KEYS_MAX = 2_000
const DETAIL_LENGTH_MAX = 200

export function createDriftWatch({ spool, tell, count, nowMs, onFault }: DriftWatchOptions): DriftWatch {
  const toldMs = new Map<string, number>()
  let second = 0
  let samples = 0

  function mayTell(key: string): boolean {
    const now = nowMs()
    if (now - (toldMs.get(key) ?? -Infinity) < TELL_EVERY_MS) return false
    if (toldMs.size >= KEYS_MAX && !toldMs.has(key)) forget(now)
    if (toldMs.size >= KEYS_MAX && !toldMs.has(key)) {
      count('drift_not_told')
      return false
    }
    toldMs.set(key, now)
    return true
  }

  function forget(now: number): void {
    for (const [key, at] of toldMs) if (now - at >= TELL_EVERY_MS) toldMs.delete(key)
  }

  function note(call: Call, attribution: Attribution, kind: Drift['kind'], status: number, detail: string): void {
    spool.append({
      attribution,
      sequence: call.sequence,
      timeMs: nowMs(),
      durationUs: 0,
      upstreamUs: 0,
      admittedAgoMs: 0,
      status,
      outcome: outcomeIndex[kind],
      flags: 0,
      unitsMicro: 0,
      requestBytes: 0,
      responseBytes: 0,
      onSafe() {},
      onRefused: () => count('drift_not_recorded'),
    })
    const { tenant, api, operation } = attribution
    tell({
      tenant,
      api,
      operation,
      kind,
      status,
      detail: detail.slice(0, DETAIL_LENGTH_MAX),
      requestId: call.requestId,
    })
  }

  function mayStartSample(response: DeclaredResponse): boolean {
    const now = nowMs()
    if (now - response.sampledMs < SAMPLE_EVERY_MS) return false
    const thisSecond = Math.floor(now / 1_000)
    if (thisSecond !== second) {
      second = thisSecond
      samples = 0
    }
    // The first of a kind is always looked at.
    if (response.sampledMs !== -Infinity && samples >= SAMPLES_PER_SECOND_MAX) return false
    samples++
    response.sampledMs = now
    return true
  }

  function look(
    bytes: Buffer,
    check: Check,
    call: Call,
    operation: CompiledOperation,
    response: DeclaredResponse,
    status: number,
  ): void {
    const parsed = parseJsonBody(bytes)
    const faults = 'fault' in parsed ? null : check(parsed.value)
    if (!('fault' in parsed) && faults === null) return
    const now = nowMs()
    if (now - response.bodyToldMs < TELL_EVERY_MS) return
    response.bodyToldMs = now
    const [first] = faults ?? []
    const detail =
      'fault' in parsed ? parsed.fault : `${first?.instancePath ?? ''} ${first?.message ?? 'is not as declared'}`.trim()
    note(call, operation.anonymous, 'undeclared_body', status, detail)
  }

  function sampleOf(
    check: Check,
    call: Call,
    operation: CompiledOperation,
    response: DeclaredResponse,
    status: number,
  ): BodySample {
    let chunks: Buffer[] = []
    let bytes = 0
    return {
      add(chunk) {
        bytes += chunk.length
        if (bytes <= SAMPLE_BYTES_MAX) chunks.push(chunk)
        else chunks = []
      },
      end() {
        if (bytes === 0 || bytes > SAMPLE_BYTES_MAX) return
        setImmediate(() => {
          try {
            look(Buffer.concat(chunks), check, call, operation, response, status)
          } catch (cause) {
            onFault(cause)
          }
        })
      },
    }
  }

  return {
    head(call, operation, status, headers) {
      const { responses } = operation
      if (responses === null || status >= 500 || status === 304) return null
      const response = responses.find(status)
      if (response === null) {
        const { api, operationId } = { api: operation.anonymous.api, operationId: operation.plan.operationId }
        if (mayTell(`${api} ${operationId} ${status}`)) {
          note(call, operation.anonymous, 'undeclared_status', status, String(status))
        }
        return null
      }
      const contentType = headers['content-type']
      if (typeof contentType !== 'string' || headers['content-length'] === '0') return null
      if (!response.takes(contentType)) {
        const now = nowMs()
        if (now - response.mediaToldMs >= TELL_EVERY_MS) {
          response.mediaToldMs = now
          note(call, operation.anonymous, 'undeclared_media_type', status, contentType)
        }
        return null
      }
      if (call.request.method === 'HEAD' || headers['content-encoding'] !== undefined) return null
      if (!mayStartSample(response)) return null
      const check = response.checkFor(contentType)
      return check === null ? null : sampleOf(check, call, operation, response, status)
    },
    operation(call) {
      const { attribution, status } = call
      const key = `${attribution.api} ${attribution.subscription}`
      if (!mayTell(key)) return
      const path = (call.request.url ?? '').split('?', 1)[0] ?? ''
      note(call, attribution, 'undeclared_operation', status, `${call.request.method ?? ''} ${path}`)
    },
  }
}
