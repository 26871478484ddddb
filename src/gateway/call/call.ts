/**
 * One call from its first byte to its record.
 *
 * It is the record while it passes (the stages fill in what they learn), and it holds back the end of
 * the response until the record is in the spool: the head of a response without a body, the last bytes
 * of a known length, or the terminating chunk. A response that a client has seen whole is therefore
 * recorded, whatever dies next. If the record cannot be written, a response whose head has not been sent
 * becomes a 503; one under way is broken off.
 *
 * Every callback of a call runs in `attempt`, or catches by itself and calls `crash`: a fault ends this
 * call with 500 `internal`, and never the thread.
 */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ANONYMOUS, type Attribution } from '../../domain/attribution.ts'
import type { Explanation } from '../../domain/explanation.ts'
import { problemDocument, PROBLEMS } from '../../domain/problem.ts'
import { outcomeIndex, type Outcome } from '../../record/call-record.ts'
import { toRequestId } from '../../record/record-batch.ts'
import type { RecordedCall, SpoolWriter } from '../../record/spool-writer.ts'
import type { RefusalCode, RefusalOptions } from './call-refusal.ts'
import { discardRest } from '../connection/discard-body.ts'
import type { Block, CompiledSla } from '../limits/limiter.ts'
import { READ_BYTES_PER_SECOND_MIN, type ReaderWatch, type WatchedReader } from '../connection/reader-watch.ts'
import type { GatewayResponse } from '../connection/response.ts'

/** The stage that a call is in, if it must be stopped there. */
export interface CallOwner {
  /** Stops what is under way, without answering: the call is over. */
  abandon(): void
}

export interface CallDependencies {
  readonly spool: SpoolWriter
  readonly nowMs: () => number
  /** Counts what has no record: calls that belong to no API. */
  readonly count: (reason: string) => void
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  /** Calls of this thread that have no record yet, for the main thread to count if this thread dies. */
  readonly inFlight: Int32Array
  /** Logs and counts a fault of the gateway itself. */
  readonly onFault: (cause: unknown) => void
}

/** A call that belongs to no API, and so to no tenant. */
const NOBODY: Attribution = { tenant: '', api: '', operation: '', ...ANONYMOUS }
/** The status that nginx logs for a client that closed the connection first. */
const STATUS_CLIENT_GONE = 499

export class Call implements RecordedCall, WatchedReader {
  readonly request: IncomingMessage
  readonly response: GatewayResponse
  readonly socket: Socket
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
  /** Headers of the response as name, value, …; those of the gateway are added when the head is sent. */
  head: string[] = []
  /** Headers that the limits add to every response of this call. */
  limitHeaders: string[] | null = null
  /** Headers that the API adds to every response. */
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
  /** The client waits for `100 Continue` before it sends its body. */
  expectsContinue = false

  isWatched = false
  readBytesPerSecondMin = READ_BYTES_PER_SECOND_MIN
  readSince = 0
  readBase = 0
  readNext: WatchedReader | null = null
  readPrevious: WatchedReader | null = null

  readonly #context: CallDependencies
  #held: Buffer | string | null = null
  #requestId: string | null = null
  #isInFlight = true

  constructor(context: CallDependencies, request: IncomingMessage, response: GatewayResponse, sequence: number) {
    this.#context = context
    this.request = request
    this.response = response
    this.socket = request.socket
    this.sequence = sequence
    this.startedAt = performance.now()
    context.inFlight[0]!++
    response.call = this
    response.on('close', onClose)
  }

  get requestId(): string {
    return (this.#requestId ??= toRequestId(this.#context.spool.requestPrefix, this.sequence))
  }

  /** Asks the client for the body it holds back. */
  continueBody(): void {
    if (!this.expectsContinue || this.response.headersSent) return
    this.expectsContinue = false
    this.response.askForBody()
  }

  /** Sends the head as it stands. */
  sendHead(): void {
    this.head.push('X-Request-Id', this.requestId)
    if (this.limitHeaders !== null) for (const part of this.limitHeaders) this.head.push(part)
    if (this.apiHeaders !== null) for (const part of this.apiHeaders) this.head.push(part)
    // A client that was not asked for its body may send it or not: what follows cannot be told apart.
    if (this.expectsContinue) this.head.push('Connection', 'close')
    this.response.writeHead(this.status, this.head)
  }

  /** Ends the call: makes its record and sends `last` (the end of the response) when that is safe. */
  finish(outcome: Outcome, last: Buffer | string | null): void {
    if (this.isOver) return
    this.isOver = true
    this.outcome = outcomeIndex[outcome]
    this.#held = last
    if (last !== null) this.responseBytes += last.length
    this.timeMs = this.#context.nowMs()
    this.durationUs = Math.min(0xffff_ffff, Math.round((performance.now() - this.startedAt) * 1_000))
    if (this.admissions !== null) this.#release(this.admissions)
    if (this.attribution === NOBODY) {
      this.#context.count(outcome)
      this.onSafe()
    } else this.#record()
  }

  /** Responds with a problem document (RFC 9457). `recordedAs` is the outcome if it is not the code. */
  refuse(code: RefusalCode, detail: string, options: RefusalOptions = {}): void {
    const { errors = [], headers, extensions, stage, limit, recordedAs = code } = options
    this.explanation = { detail, stage, errors, limit }
    const body = JSON.stringify(problemDocument(code, detail, this.requestId, errors, extensions))
    this.status = PROBLEMS[code].status
    this.head = ['Content-Type', 'application/problem+json', 'Content-Length', String(Buffer.byteLength(body))]
    if (headers !== undefined) for (const part of headers) this.head.push(part)
    this.finish(recordedAs, body)
  }

  refuseSlowBody(): void {
    this.refuse('request_timeout', 'The body of this request did not arrive in time.', {
      headers: ['Connection', 'close'],
    })
  }

  onSafe(): void {
    this.#leaveFlight()
    try {
      const { response } = this
      if (!response.destroyed) {
        const isHeadSent = response.headersSent
        if (!isHeadSent) this.sendHead()
        response.endWith(this.#held, isHeadSent)
        this.#context.readers.enter(this)
        if (!this.isBodyRead) discardRest(this.request, this.response, this.socket)
      }
    } catch (cause) {
      this.crash(cause)
    }
    this.#held = null
  }

  onRefused(): void {
    this.#leaveFlight()
    try {
      this.#refuseUnrecorded()
    } catch (cause) {
      this.crash(cause)
    }
    this.#held = null
  }

  /** Breaks the connection to the client off: what it has seen of the response is not the whole. */
  breakOff(outcome: Outcome): void {
    this.response.breakOff()
    this.finish(outcome, null)
  }

  /** Runs one step of the call; a fault in it ends the call. */
  attempt(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.crash(cause)
    }
  }

  /** Ends the call after a fault of the gateway: with 500 if nothing was sent, else by breaking off. */
  crash(cause: unknown): void {
    this.#context.onFault(cause)
    try {
      this.#stopOwner()
      if (this.isOver || this.response.headersSent) this.breakOff('internal')
      else this.refuse('internal', 'The gateway could not handle this call.')
    } catch (again) {
      this.#context.onFault(again)
      this.response.breakOff()
    }
  }

  clientGone(): void {
    this.#context.readers.leave(this)
    if (this.isOver) return
    if (this.status === 0) this.status = STATUS_CLIENT_GONE
    this.attempt(() => {
      this.#stopOwner()
      this.finish('client_aborted', null)
    })
  }

  /** Whatever else its connection carries has the same reader. */
  onReaderTooSlow(): void {
    if (this.isOver) this.#context.count('client_too_slow')
    this.#stopOwner()
    this.breakOff('client_too_slow')
    this.socket.destroy()
  }

  /** A fault here must not cost the record. */
  #release(admissions: { release(call: Call): void }): void {
    this.admittedAgoMs = Math.min(0xffff_ffff, Math.max(0, this.timeMs - this.admittedMs))
    try {
      admissions.release(this)
    } catch (cause) {
      this.#context.onFault(cause)
    }
  }

  #record(): void {
    try {
      this.#context.spool.append(this)
    } catch (cause) {
      this.#context.count('call_not_recorded')
      this.#leaveFlight()
      throw cause
    }
  }

  #leaveFlight(): void {
    if (!this.#isInFlight) return
    this.#isInFlight = false
    this.#context.inFlight[0]!--
  }

  #stopOwner(): void {
    const { owner } = this
    this.owner = null
    owner?.abandon()
  }

  #refuseUnrecorded(): void {
    const { response } = this
    if (response.destroyed) return
    if (response.headersSent) return void response.breakOff()
    const body = JSON.stringify(problemDocument('unavailable', 'The call could not be recorded.', this.requestId))
    this.status = PROBLEMS.unavailable.status
    this.head = ['Content-Type', 'application/problem+json', 'Retry-After', '1']
    this.sendHead()
    response.end(body)
    if (!this.isBodyRead) discardRest(this.request, this.response, this.socket)
  }
}

function onClose(this: GatewayResponse): void {
  if (this.call !== null) this.call.clientGone()
}
