/**
 * One call, from its first byte to its record.
 *
 * The call object is the record under construction: each stage fills in its fields. It holds back the end of the response until
 * the spool has the record: the head of a response without a body, the last bytes of a known length, or the terminating chunk.
 * A response that a client has received completely is therefore recorded, even if the process is killed next. If the record
 * cannot be written, a response whose head has not been sent becomes a 503; any other response is aborted.
 *
 * Every callback runs in `attempt`, or catches its own errors and calls `crash`: a fault ends this call with 500, never the thread.
 */

import type { Socket } from 'node:net'
import { ANONYMOUS, type Attribution, type Channel } from '../../foundation/domain/attribution.ts'
import type { Explanation } from '../../foundation/domain/explanation.ts'
import { problemDocument, PROBLEMS, type ProblemDocument } from '../../foundation/domain/problem.ts'
import { outcomeIndex, STATUS_CLIENT_GONE, type Outcome } from '../../foundation/domain/outcome.ts'
import { toRequestId } from '../../storage/spool/record-batch.ts'
import type { RecordedCall } from '../../storage/spool/spool-writer.ts'
import type { CallDependencies } from './call-dependencies.ts'
import type { RefusalCode, RefusalOptions } from './call-refusal.ts'
import type { ClientRequest, ClientResponse } from '../connection/client.ts'
import { discardRest, mayReuseAfter } from '../connection/discard-body.ts'
import { toResponseFields, type ResponseFields } from '../connection/response-fields.ts'
import { toQuotaLines } from '../../limits/limit-headers.ts'
import type { Block, CompiledSla } from '../../limits/limiter.ts'
import { READ_BYTES_PER_SECOND_MIN, type WatchedReader } from '../connection/reader-watch.ts'

/** The stage that must be stopped if the call ends early. */
export interface CallOwner {
  /** Stops all work on the call without responding: the call is over. */
  abandon(): void
}

/** Attribution of a call that belongs to no API, and so to no tenant. */
const UNATTRIBUTED: Attribution = { tenant: '', api: '', operation: '', ...ANONYMOUS }
const NO_FIELDS = toResponseFields([])

export class Call implements RecordedCall, WatchedReader {
  readonly channel: Channel = 'http'
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly socket: Socket
  readonly sequence: number
  /** Written by the server: when the request arrived. */
  startedAt = performance.now()

  /** Routing writes the API and the operation, authentication adds the caller. */
  attribution: Attribution = UNATTRIBUTED
  /** Written by `finish`, as the two below. */
  timeMs = 0
  durationUs = 0
  outcome = 0
  /** Written by forwarding when the head of the backend's response arrives. */
  upstreamUs = 0
  /** Written by forwarding from the backend's response, by `refuse`, or by `clientGone`. */
  status = 0
  /** One bit each from authorisation (past retirement), limits (counted, approaching) and forwarding (forwarded). */
  flags = 0
  /** Written by `finish` from `admittedMs`. */
  admittedAgoMs = 0
  /** Written by the limit stage; `admissions.release` sets it to 0 if the call is not charged. */
  unitsMicro = 0
  /** Written when a buffered body is complete; 0 for a streamed body. */
  requestBytes = 0
  /** Written by forwarding for each chunk, and by `finish` for the end of the response. */
  responseBytes = 0

  /** Reason of a refusal, for the request log; written by `refuse`. */
  explanation: Explanation | null = null
  /** Written by the server, and by forwarding for its requests to the backend; null while no traces are exported. */
  trace: NonNullable<RecordedCall['trace']> | null = null
  /** Written by forwarding, which must be stopped if the call ends early. */
  owner: CallOwner | null = null
  /** Response headers, written by forwarding or `refuse`; `sendHead` adds the lines of the gateway. */
  head: ResponseFields = NO_FIELDS
  /** Written by the limit stage, as the use of the quota. */
  limitLines = ''
  quotaUsedMicro = 0
  /** Written by routing. */
  apiLines = ''
  /** Releases concurrency and units. The limit stage writes this and the eight below; the last two concern waits for leases. */
  admissions: { release(call: Call, usedMicro?: number): void } | null = null
  sla: CompiledSla | null = null
  block: Block | null = null
  gauge = 0
  quotaStartMs = 0
  leaseStartMs = 0
  leaseRounds = 0
  countsAlone = false
  admittedMs = 0
  /** Written by `finish`: true as soon as the record is made; no response may be started after that. */
  isOver = false
  /** Whether the body has been read or does not exist; written by validation or forwarding. */
  isBodyRead = false
  /** Whether the client waits for `100 Continue` before it sends its body; written by the server. */
  expectsContinue = false

  /** Fields of `WatchedReader`: routing writes the minimum rate, `ReaderWatch` the others. */
  readBytesPerSecondMin = READ_BYTES_PER_SECOND_MIN
  isWatched = false
  readSince = 0
  readBase = 0
  readNext: WatchedReader | null = null
  readPrevious: WatchedReader | null = null

  readonly #dependencies: CallDependencies
  #held: Buffer | string | null = null
  #requestId: string | null = null
  #isInFlight = true

  constructor(dependencies: CallDependencies, request: ClientRequest, response: ClientResponse, sequence: number) {
    this.#dependencies = dependencies
    this.request = request
    this.response = response
    this.socket = request.socket
    this.sequence = sequence
    dependencies.inFlight[0]!++
    response.call = this
  }

  get requestId(): string {
    return (this.#requestId ??= toRequestId(this.#dependencies.spool.requestPrefix, this.sequence))
  }

  /** Sends `100 Continue` if the client waits for it. */
  continueBody(): void {
    if (!this.expectsContinue || this.response.headersSent) return
    this.expectsContinue = false
    this.response.askForBody()
  }

  /** Sends the head with the headers of the gateway. */
  sendHead(): void {
    const quota = this.sla === null ? '' : toQuotaLines(this.sla, this.quotaUsedMicro)
    const lines = `${this.head.lines}X-Request-Id: ${this.requestId}\r\n${this.limitLines}${quota}${this.apiLines}`
    // Without `100 Continue` the client may still send its body, so the next bytes could be a body or a request.
    const isLast = this.expectsContinue || !mayReuseAfter(this.request)
    this.response.start(this.status, { ...this.head, lines, isLast })
  }

  /** Ends the call: appends its record, and sends `last` (the end of the response) when the spool has the record. */
  finish(outcome: Outcome, last: Buffer | string | null): void {
    if (this.isOver) return
    this.isOver = true
    this.outcome = outcomeIndex[outcome]
    this.#held = last
    if (last !== null) this.responseBytes += Buffer.byteLength(last)
    this.timeMs = this.#dependencies.nowMs()
    this.durationUs = Math.min(0xffff_ffff, Math.round((performance.now() - this.startedAt) * 1_000))
    if (this.admissions !== null) this.#release(this.admissions)
    if (this.attribution === UNATTRIBUTED) {
      this.#dependencies.count(outcome)
      this.onSafe()
    } else this.#record()
  }

  /** Responds with a problem document (RFC 9457); the outcome is `code` unless `recordedAs` names another one. */
  refuse(code: RefusalCode, detail: string, options: RefusalOptions = {}): void {
    const { errors = [], headers, extensions, stage, limit, recordedAs = code } = options
    this.explanation = { detail, stage, errors, limit }
    this.status = PROBLEMS[code].status
    const body = this.writeProblem(problemDocument(code, detail, this.requestId, errors, extensions), headers)
    this.finish(recordedAs, body)
  }

  /** Writes the head of a refusal and returns its body. */
  protected writeProblem(problem: ProblemDocument, headers: readonly string[] = []): string | Buffer {
    const body = JSON.stringify(problem)
    const length = String(Buffer.byteLength(body))
    const own = ['Content-Type', 'application/problem+json', 'Content-Length', length]
    this.head = toResponseFields([...own, ...headers])
    return body
  }

  /** Sends the end of the response: the spool has the record. */
  onSafe(): void {
    this.#leaveFlight()
    try {
      const { response } = this
      if (!response.destroyed) {
        const isHeadSent = response.headersSent
        if (!isHeadSent) this.sendHead()
        if (!this.isBodyRead) discardRest(this.request, this.response, this.socket)
        response.endWith(this.#held, isHeadSent)
        // Most clients have got all of it by now.
        if (!response.destroyed) this.#dependencies.readers.enter(this)
      }
    } catch (cause) {
      this.crash(cause)
    }
    this.#held = null
  }

  /** Responds with 503 or aborts the response: the spool could not write the record. */
  onRefused(): void {
    this.#leaveFlight()
    try {
      this.#refuseUnrecorded()
    } catch (cause) {
      this.crash(cause)
    }
    this.#held = null
  }

  /** Aborts the response, so that the client detects that it is incomplete. */
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

  /** Ends the call after a fault of the gateway: with 500 if no head was sent, otherwise by aborting the response. */
  crash(cause: unknown): void {
    this.#dependencies.onFault(cause)
    try {
      this.#stopOwner()
      if (this.isOver || this.response.headersSent) this.breakOff('internal')
      else this.refuse('internal', 'The gateway failed to handle this call.')
    } catch (again) {
      this.#dependencies.onFault(again)
      this.response.breakOff()
    }
  }

  /** Ends the call if the client has closed the connection before the end of the response. */
  clientGone(): void {
    this.#dependencies.readers.leave(this)
    if (this.isOver) return
    if (this.status === 0) this.status = STATUS_CLIENT_GONE
    this.attempt(() => {
      this.#stopOwner()
      this.finish('client_aborted', null)
    })
  }

  /** Closes the whole connection, since its other responses have the same slow reader; of HTTP/2, only the stream. */
  onReaderTooSlow(): void {
    if (this.isOver) this.#dependencies.count('client_too_slow')
    this.#stopOwner()
    this.breakOff('client_too_slow')
    this.response.disconnect()
  }

  /** Releases the limits; a fault here must not prevent the record. */
  #release(admissions: { release(call: Call): void }): void {
    this.admittedAgoMs = Math.min(0xffff_ffff, Math.max(0, this.timeMs - this.admittedMs))
    try {
      admissions.release(this)
    } catch (cause) {
      this.#dependencies.onFault(cause)
    }
  }

  #record(): void {
    try {
      this.#dependencies.spool.append(this)
    } catch (cause) {
      this.#dependencies.count('call_not_recorded')
      this.#leaveFlight()
      throw cause
    }
  }

  #leaveFlight(): void {
    if (!this.#isInFlight) return
    this.#isInFlight = false
    this.#dependencies.inFlight[0]!--
  }

  #stopOwner(): void {
    const { owner } = this
    this.owner = null
    owner?.abandon()
  }

  #refuseUnrecorded(): void {
    const { response } = this
    if (response.destroyed) return
    if (response.headersSent) return response.breakOff()
    const body = JSON.stringify(
      problemDocument('unavailable', 'The gateway could not record this call.', this.requestId),
    )
    this.status = PROBLEMS.unavailable.status
    this.head = toResponseFields(['Content-Type', 'application/problem+json', 'Retry-After', '1'])
    this.sendHead()
    if (!this.isBodyRead) discardRest(this.request, response, this.socket)
    response.end(body)
    if (!response.destroyed) this.#dependencies.readers.enter(this)
  }
}
