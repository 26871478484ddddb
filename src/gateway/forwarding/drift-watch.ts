/**
 * Compares calls with the document of the revision that serves them: status and media type of every response, sampled response bodies,
 * and requests of known callers for undeclared operations.
 *
 * The first finding of each kind is always reported, then at most one per second and kind. The number of reports is
 * therefore bounded by the size of the contract, not by traffic. A sampled body is checked after its response was
 * sent.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Attribution } from '../../foundation/domain/attribution.ts'
import type { Drift } from '../../foundation/domain/drift.ts'
import { outcomeIndex } from '../../foundation/domain/outcome.ts'
import type { SpoolWriter } from '../../storage/spool/spool-writer.ts'
import type { Call } from '../call/call.ts'
import type { CompiledOperation } from '../call/revision.ts'
import type { ResponseHead } from '../headers/upstream-response.ts'
import type { DeclaredResponse } from '../validation/declared-responses.ts'
import { parseJsonBody } from '../../foundation/json/parse-json-body.ts'
import type { Check } from '../../boundary/schema/schema-compiler.ts'
import { BufferedSample, SampleBudget, type BodySample } from './drift-sampling.ts'

export interface DriftWatch {
  /** Checks status and media type of a response. Returns the sample that must receive the body, or null. */
  checkHead(call: Call, operation: CompiledOperation, status: number, head: CheckedHead): BodySample | null
  /** Reports a known caller's request for an undeclared operation. Uses the attribution of the call. */
  reportOperation(call: Call): void
}

/** The parts of a head that are checked. */
export type CheckedHead = Readonly<Pick<ResponseHead, 'contentType' | 'contentEncoding' | 'length'>>

export interface DriftWatchOptions {
  readonly spool: Pick<SpoolWriter, 'append'>
  readonly emit: (drift: Drift) => void
  readonly count: CountEvent
  readonly nowMs: () => number
  /** Called if the check of a sampled body throws; the call is over by then. */
  readonly onFault: (cause: unknown) => void
}

const REPORT_EVERY_MS = 1_000
/** Upper bound of statuses and callers with a recent report. At the bound, new ones are not reported. */
const KEYS_MAX = 2_000
const DETAIL_LENGTH_MAX = 200

export function createDriftWatch(options: DriftWatchOptions): DriftWatch {
  return new ContractComparison(options)
}

class ContractComparison implements DriftWatch {
  readonly #options: DriftWatchOptions
  readonly #budget = new SampleBudget()
  readonly #reportedMs = new Map<string, number>()

  constructor(options: DriftWatchOptions) {
    this.#options = options
  }

  checkHead(call: Call, operation: CompiledOperation, status: number, head: CheckedHead): BodySample | null {
    const { responses } = operation
    if (responses === null || status >= 500 || status === 304) return null
    const response = responses.find(status)
    if (response === null) {
      const { anonymous, plan, canaryRevision } = operation
      const key = `${anonymous.api} ${canaryRevision ?? ''} ${plan.operationId} ${status}`
      if (this.#mayReport(key)) {
        this.#report(call, anonymous, 'undeclared_status', status, String(status), canaryRevision)
      }
      return null
    }
    const { contentType } = head
    if (contentType === undefined || head.length === 0) return null
    if (!response.accepts(contentType)) {
      this.#reportMediaType(call, operation, response, status, contentType)
      return null
    }
    if (call.request.method === 'HEAD' || head.contentEncoding !== undefined) return null
    return this.#startSample(call, operation, response, status, contentType)
  }

  reportOperation(call: Call): void {
    const { attribution, status } = call
    if (!this.#mayReport(`${attribution.api} ${attribution.subscription}`)) return
    const path = (call.request.url ?? '').split('?', 1)[0] ?? ''
    this.#report(call, attribution, 'undeclared_operation', status, `${call.request.method ?? ''} ${path}`)
  }

  #reportMediaType(
    call: Call,
    operation: CompiledOperation,
    response: DeclaredResponse,
    status: number,
    contentType: string,
  ): void {
    const nowMs = this.#options.nowMs()
    if (nowMs - response.mediaReportedMs < REPORT_EVERY_MS) return
    response.mediaReportedMs = nowMs
    this.#report(call, operation.anonymous, 'undeclared_media_type', status, contentType, operation.canaryRevision)
  }

  #startSample(
    call: Call,
    operation: CompiledOperation,
    response: DeclaredResponse,
    status: number,
    contentType: string,
  ): BodySample | null {
    // The clock was read for the call already.
    if (!this.#budget.take(response, call.startedAt)) return null
    const check = response.checkFor(contentType)
    if (check === null) return null
    return new BufferedSample((body) => {
      const fault = findFault(body, check)
      if (fault !== null) this.#reportBody(call, operation, response, status, fault)
    }, this.#options.onFault)
  }

  #reportBody(
    call: Call,
    operation: CompiledOperation,
    response: DeclaredResponse,
    status: number,
    fault: string,
  ): void {
    const nowMs = this.#options.nowMs()
    if (nowMs - response.bodyReportedMs < REPORT_EVERY_MS) return
    response.bodyReportedMs = nowMs
    this.#report(call, operation.anonymous, 'undeclared_body', status, fault, operation.canaryRevision)
  }

  /** Limits the reports of one key, and the keys. */
  #mayReport(key: string): boolean {
    const { nowMs, count } = this.#options
    const now = nowMs()
    if (now - (this.#reportedMs.get(key) ?? -Infinity) < REPORT_EVERY_MS) return false
    if (this.#reportedMs.size >= KEYS_MAX && !this.#reportedMs.has(key)) this.#evictExpired(now)
    if (this.#reportedMs.size >= KEYS_MAX && !this.#reportedMs.has(key)) {
      count('drift_not_told')
      return false
    }
    this.#reportedMs.set(key, now)
    return true
  }

  #evictExpired(nowMs: number): void {
    for (const [key, at] of this.#reportedMs) if (nowMs - at >= REPORT_EVERY_MS) this.#reportedMs.delete(key)
  }

  /** Appends a record to the spool and emits the drift. */
  #report(
    call: Call,
    attribution: Attribution,
    kind: Drift['kind'],
    status: number,
    detail: string,
    canaryRevision: number | null = null,
  ): void {
    const { spool, emit, count, nowMs } = this.#options
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
    const { requestId } = call
    const revision = canaryRevision === null ? {} : { revision: canaryRevision }
    emit({ tenant, api, ...revision, operation, kind, status, detail: detail.slice(0, DETAIL_LENGTH_MAX), requestId })
  }
}

/** Returns the first fault of a body, or null, also if the body is too deep or wide to be checked. Never includes a value of it. */
function findFault(body: Buffer, check: Check): string | null {
  const parsed = parseJsonBody(body)
  if ('fault' in parsed) return parsed.exceedsBounds === true ? null : parsed.fault
  const faults = check(parsed.value)
  if (faults === null) return null
  const [first] = faults
  return `${first?.instancePath ?? ''} ${first?.message ?? 'does not match its schema'}`.trim()
}
