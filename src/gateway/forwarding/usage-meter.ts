/**
 * Counts the units of a call that are known only after its response (`x-tollgate-units`), and settles them when the call ends.
 *
 * A meter takes the place of the admission of its call: the call was charged a reserve, and its end replaces the reserve by the units
 * that were used, in the same turn of the event loop as its record. Whether a call is charged at all does not depend on its meter.
 *
 * If the units cannot be read, the reserve is charged and the reason is reported.
 */

import { MICRO } from '../../foundation/domain/decimal.ts'
import { OUTCOMES } from '../../foundation/domain/outcome.ts'
import type { EventUnits, ResponseUnits, TrafficUnits, UnitsPlan } from '../../boundary/plan/route-plan.ts'
import type { Call } from '../call/call.ts'
import type { TrailerReader } from '../connection/exchange.ts'
import { HeaderMemo } from '../connection/header-memo.ts'
import type { HeaderRules } from '../headers/header-rules.ts'
import { readResponseHead, type ResponseHead } from '../headers/upstream-response.ts'
import type { TrafficCounts } from '../websocket/traffic-counts.ts'
import { EventCounter } from './event-counter.ts'

/** Why the units of a response could not be read. */
export type UsageFault = 'missing' | 'invalid' | 'repeated' | 'encoded'

export interface UsageMeterOptions {
  readonly method: string
  /** The units that the declaration states for the operation. */
  readonly declaredMicro: number
  /** Called at most once, at the end of a call that is charged. */
  readonly onFault: (fault: UsageFault) => void
}

type Admissions = NonNullable<Call['admissions']>

/** Not all parsers remove the white space that may follow a value. */
const PLAIN_INTEGER = /^(?:0|[1-9]\d{0,8})[\t ]*$/
const EVENT_STREAM = /^text\/event-stream[\t ]*(?:;|$)/i
/** Sums of units stay exact below 2^53. */
const USED_MICRO_MAX = 1e15
const KILOBYTE = 1_000
const SWITCHING_PROTOCOLS = 101

/** Returns the meter of a call, which it gets before it is forwarded. */
export function startMeter(call: Call, units: UnitsPlan, options: UsageMeterOptions): UsageMeter {
  const meter = createMeter(call, units, options)
  // Calls of public operations without a credential have no units.
  if (call.admissions !== null) call.admissions = meter
  return meter
}

function createMeter(call: Call, units: UnitsPlan, options: UsageMeterOptions): UsageMeter {
  if (units.per === 'event') return new EventMeter(call, units, options)
  return units.per === 'response' ? new ResponseMeter(call, units, options) : new TrafficMeter(call, units, options)
}

export abstract class UsageMeter implements TrailerReader, Admissions {
  /** Written by the WebSocket of the call. */
  readonly traffic: TrafficCounts = { messages: 0, bytes: 0 }
  protected readonly options: UsageMeterOptions
  readonly #admissions: Admissions | null

  constructor(call: Call, options: UsageMeterOptions) {
    this.options = options
    this.#admissions = call.admissions
  }

  /** Reads the head of the response; returns that for the client. */
  abstract readHead(status: number, headers: HeaderMemo, rules: HeaderRules): ResponseHead
  abstract takeTrailer(fields: readonly string[]): void
  /** Notes that a part of the body was written to the client. */
  abstract deliver(chunk: Buffer): void
  /** Returns the units that the call has used, or why they are not known. */
  protected abstract usedBy(call: Call): number | UsageFault | null

  /** Returns the units that a WebSocket has used, while it is open. */
  usedSoFar(): number {
    return 0
  }

  release(call: Call): void {
    const used = this.usedBy(call)
    if (typeof used === 'number') return this.#admissions?.release(call, used)
    this.#admissions?.release(call)
    if (used !== null && call.unitsMicro > 0) this.options.onFault(used)
  }
}

/** Counts the server-sent events that were written to the client. */
class EventMeter extends UsageMeter {
  readonly #unitsMicro: number
  readonly #events = new EventCounter()
  /** Null before the head, and for a response that is no stream of events. */
  #content: 'events' | 'encoded' | 'other' | null = null

  constructor(call: Call, { unitsMicro }: EventUnits, options: UsageMeterOptions) {
    super(call, options)
    this.#unitsMicro = unitsMicro
  }

  readHead(status: number, headers: HeaderMemo, rules: HeaderRules): ResponseHead {
    const head = readResponseHead(status, headers, rules)
    const { contentType = '', contentEncoding = 'identity' } = head
    const hasBody = this.options.method !== 'HEAD' && status !== 204 && status !== 304
    if (!hasBody || !EVENT_STREAM.test(contentType)) this.#content = 'other'
    else this.#content = contentEncoding.toLowerCase() === 'identity' ? 'events' : 'encoded'
    return head
  }

  takeTrailer(): void {}

  deliver(chunk: Buffer): void {
    if (this.#content === 'events') this.#events.add(chunk)
  }

  protected usedBy(): number | UsageFault | null {
    switch (this.#content) {
      case 'events':
        return Math.min(this.#events.count * this.#unitsMicro, USED_MICRO_MAX)
      case 'other':
        return this.options.declaredMicro
      case 'encoded':
        return 'encoded'
      case null:
        return null
      default:
        return this.#content satisfies never
    }
  }
}

/** Counts the messages or the bytes of a WebSocket, in both directions. */
class TrafficMeter extends UsageMeter {
  readonly #units: TrafficUnits
  /** Whether the backend has sent a response instead of the WebSocket. */
  #isResponse = false

  constructor(call: Call, units: TrafficUnits, options: UsageMeterOptions) {
    super(call, options)
    this.#units = units
  }

  readHead(status: number, headers: HeaderMemo, rules: HeaderRules): ResponseHead {
    this.#isResponse = true
    return readResponseHead(status, headers, rules)
  }

  takeTrailer(): void {}

  deliver(): void {}

  override usedSoFar(): number {
    const { messages, bytes } = this.traffic
    const count = this.#units.per === 'message' ? messages : Math.ceil(bytes / KILOBYTE)
    return Math.min(count * this.#units.unitsMicro, USED_MICRO_MAX)
  }

  protected usedBy({ status }: Call): number | null {
    if (this.#isResponse) return this.options.declaredMicro
    return status === SWITCHING_PROTOCOLS ? this.usedSoFar() : null
  }
}

/** Takes the units from a header of the response or from its trailer, which the client does not receive. */
class ResponseMeter extends UsageMeter {
  readonly #units: ResponseUnits
  readonly #values: string[] = []

  constructor(call: Call, units: ResponseUnits, options: UsageMeterOptions) {
    super(call, options)
    this.#units = units
  }

  readHead(status: number, headers: HeaderMemo, rules: HeaderRules): ResponseHead {
    const others = this.#take(headers.raw)
    return readResponseHead(status, others.length === headers.raw.length ? headers : new HeaderMemo(others), rules)
  }

  takeTrailer(fields: readonly string[]): void {
    this.#take(fields)
  }

  deliver(): void {}

  protected usedBy({ outcome, status }: Call): number | UsageFault | null {
    const [value, ...more] = this.#values
    if (more.length > 0) return 'repeated'
    if (value !== undefined) return toUsedMicro(value, this.#units.maxMicro) ?? 'invalid'
    // Errors have no units of their own, and a client that leaves early may not wait for the trailer.
    const isExpected = OUTCOMES[outcome] === 'served' && status >= 200 && status < 300
    return isExpected ? 'missing' : null
  }

  /** Notes the values of the header, and returns the other fields. */
  #take(fields: readonly string[]): readonly string[] {
    const others: string[] = []
    for (let index = 0; index < fields.length; index += 2) {
      const [name, value] = [fields[index]!, fields[index + 1]!]
      if (name.toLowerCase() !== this.#units.header) others.push(name, value)
      // Two are as good as many.
      else if (this.#values.length < 2) this.#values.push(value)
    }
    return others
  }
}

/** Returns millionths; null unless the text is a plain decimal integer up to the maximum. */
function toUsedMicro(value: string, maxMicro: number): number | null {
  const micro = PLAIN_INTEGER.test(value) ? Number(value) * MICRO : Infinity
  return micro <= maxMicro ? micro : null
}
