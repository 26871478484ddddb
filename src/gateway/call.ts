/**
 * One call from its first byte to its record.
 *
 * It is the record while it passes (the stations fill in what they learn), and it holds back the end
 * of the answer until the record is in the spool: the head of an answer without a body, the last
 * bytes of a known length, or the terminating chunk. An answer that a client has seen whole is
 * therefore recorded, whatever dies next. When the record cannot be written, an answer whose head has
 * not left becomes a 503; one that is under way is broken off.
 */

import type { IncomingMessage } from 'node:http'
import { ANONYMOUS, type Attribution } from '../domain/attribution.ts'
import type { Explanation, LimitState, Stage } from '../domain/explanation.ts'
import { problemDocument, PROBLEMS, type ProblemCode, type ProblemPointer } from '../domain/problem.ts'
import { outcomeIndex, type Outcome } from '../record/call-record.ts'
import { toRequestId } from '../record/record-batch.ts'
import type { RecordedCall, SpoolWriter } from '../record/spool-writer.ts'
import { discardBody } from './discard-body.ts'
import type { Block, CompiledSla } from './limits/limiter.ts'
import type { GatewayResponse } from './response.ts'

/** Whoever must hear that a call is over before it was answered, or that it was recorded. */
export interface CallOwner {
  /** The client has gone; stop what is under way. */
  onClientGone(): void
}

export interface CallContext {
  readonly spool: SpoolWriter
  readonly nowMs: () => number
  /** Counts what has no record: calls that belong to no API. */
  readonly count: (reason: string) => void
}

/** A call that belongs to no API, and so to no tenant. */
const NOBODY: Attribution = { tenant: '', api: '', operation: '', ...ANONYMOUS }
/** nginx's word for a client that closed the connection first. */
const STATUS_CLIENT_GONE = 499
/** An unread body of up to this Node reads by itself to keep the connection. */
const UNREAD_BYTES_MAX = 65_536

export class Call implements RecordedCall {
  readonly request: IncomingMessage
  readonly response: GatewayResponse
  readonly sequence: number
  readonly startedAt: number

  attribution: Attribution = NOBODY
  timeMs = 0
  durationUs = 0
  upstreamUs = 0
  status = 0
  outcome = 0
  flags = 0
  admittedAgoMs = 0
  unitsMicro = 0
  requestBytes = 0
  responseBytes = 0

  /** Why it was refused, for the request log. */
  explanation: Explanation | null = null
  owner: CallOwner | null = null
  /** Headers of the answer as name, value, …; those of the gateway are added when the head is sent. */
  head: string[] = []
  /** Headers that the limits add to every answer of this call. */
  limitHeaders: string[] | null = null
  /** Headers that the API adds to every answer. */
  apiHeaders: readonly string[] | null = null
  /** What it holds of concurrency and units, and who takes it back; see `admission.ts`. */
  admissions: { release(call: Call): void } | null = null
  sla: CompiledSla | null = null
  block: Block | null = null
  gauge = 0
  quotaStartMs = 0
  admittedMs = 0
  /** True from the moment its record is made; nothing may be answered after that. */
  isOver = false
  /** The body has been read, or there is none. */
  isBodyRead = false

  readonly #context: CallContext
  #held: Buffer | string | null = null
  #requestId: string | null = null

  constructor(context: CallContext, request: IncomingMessage, response: GatewayResponse, sequence: number) {
    this.#context = context
    this.request = request
    this.response = response
    this.sequence = sequence
    this.startedAt = performance.now()
    response.call = this
    response.on('close', onClose)
  }

  get requestId(): string {
    return (this.#requestId ??= toRequestId(this.#context.spool.requestPrefix, this.sequence))
  }

  /** Sends the head as it stands. */
  sendHead(): void {
    this.head.push('X-Request-Id', this.requestId)
    if (this.limitHeaders !== null) for (const part of this.limitHeaders) this.head.push(part)
    if (this.apiHeaders !== null) for (const part of this.apiHeaders) this.head.push(part)
    this.response.writeHead(this.status, this.head)
  }

  /** Ends the call: makes its record and lets `last` (the end of the answer) go when that is safe. */
  finish(outcome: Outcome, last: Buffer | string | null): void {
    this.isOver = true
    this.outcome = outcomeIndex[outcome]
    this.#held = last
    if (last !== null) this.responseBytes += last.length
    this.timeMs = this.#context.nowMs()
    this.durationUs = Math.min(0xffff_ffff, Math.round((performance.now() - this.startedAt) * 1_000))
    if (this.admissions !== null) {
      this.admittedAgoMs = Math.min(0xffff_ffff, Math.max(0, this.timeMs - this.admittedMs))
      this.admissions.release(this)
    }
    if (this.attribution === NOBODY) {
      this.#context.count(outcome)
      this.onSafe()
    } else this.#context.spool.append(this)
  }

  /** Answers with a problem document (RFC 9457). */
  refuse(code: Outcome & ProblemCode, detail: string, options: RefusalOptions = {}): void {
    const { errors = [], headers, extensions, stage, limit } = options
    this.explanation = { detail, stage, errors, limit }
    const body = JSON.stringify(problemDocument(code, detail, this.requestId, errors, extensions))
    this.status = PROBLEMS[code].status
    this.head = ['Content-Type', 'application/problem+json', 'Content-Length', String(Buffer.byteLength(body))]
    if (headers !== undefined) for (const part of headers) this.head.push(part)
    this.finish(code, body)
    if (!this.isBodyRead && hasLongBody(this.request)) discardBody(this.request)
  }

  onSafe(): void {
    const { response } = this
    if (!response.destroyed) {
      if (!response.headersSent) this.sendHead()
      if (this.#held === null) response.end()
      else response.end(this.#held)
    }
    this.#held = null
  }

  onRefused(): void {
    const { response } = this
    if (response.headersSent) response.destroy()
    else if (!response.destroyed) {
      const body = JSON.stringify(problemDocument('unavailable', 'The call could not be recorded.', this.requestId))
      this.status = PROBLEMS.unavailable.status
      this.head = ['Content-Type', 'application/problem+json', 'Retry-After', '1']
      this.sendHead()
      response.end(body)
    }
    this.#held = null
  }

  /** Breaks the connection to the client off: what it has seen of the answer is not the whole. */
  breakOff(outcome: Outcome): void {
    this.response.destroy()
    this.finish(outcome, null)
  }

  clientGone(): void {
    if (this.isOver) return
    if (this.status === 0) this.status = STATUS_CLIENT_GONE
    if (this.owner !== null) this.owner.onClientGone()
    else this.finish('client_aborted', null)
  }
}

export interface RefusalOptions {
  readonly errors?: readonly ProblemPointer[]
  /** Name, value, … */
  readonly headers?: readonly string[]
  readonly extensions?: Readonly<Record<string, unknown>>
  /** The stage that refused, if the code does not say it. */
  readonly stage?: Stage
  /** The limit that refused. */
  readonly limit?: LimitState
}

function onClose(this: GatewayResponse): void {
  if (this.call !== null) this.call.clientGone()
}

function hasLongBody(request: IncomingMessage): boolean {
  if (request.headers['transfer-encoding'] !== undefined) return true
  return Number(request.headers['content-length'] ?? 0) > UNREAD_BYTES_MAX
}
