/**
 * Records the calls that the main thread serves (platform API, OAuth endpoints) into a separate spool, so that they are billed
 * and counted like calls of the gateway, and raise the same risks.
 */

import type { Explanation } from '../../../foundation/domain/explanation.ts'
import { ANONYMOUS, type Attribution, type Channel } from '../../../foundation/domain/attribution.ts'
import type { CallTerms } from '../call-limits.ts'
import { isOutcome, outcomeIndex, type Outcome } from '../../../foundation/domain/outcome.ts'
import { FLAG_APPROACHING_LIMIT, FLAG_COUNTED, FLAG_FORWARDED } from '../../../storage/spool/call-record.ts'
import { REQUEST_PREFIX_LENGTH } from '../../../storage/spool/segment-header.ts'
import { toRequestId } from '../../../storage/spool/record-batch.ts'
import type { RecordedCall, SpoolWriter } from '../../../storage/spool/spool-writer.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { Problem } from '../../../foundation/domain/problem.ts'
import type { Party } from '../../../boundary/plan/caller.ts'

export interface RecorderCall {
  readonly tenant: string
  readonly api: string
  /** `''` for a message that calls no operation; it is no call in usage. */
  readonly operation: string
  /** Default: `http`. */
  readonly channel?: Channel
  /** The attributed party, if it is known. */
  readonly party: Party | null
  readonly status: number
  readonly code: string
  readonly startedMs: number
  readonly requestId: string | null
  /** The reason of a refusal. */
  readonly explanation?: Explanation | null
  /** Limit data of a call that its limits admitted. */
  readonly terms?: CallTerms | null
}

export interface PlatformRecorder {
  newRequestId(): string
  /** Resolves when the record is safe; rejects with `Problem('unavailable')` if it cannot be written. */
  record(call: RecorderCall): Promise<void>
  /** Records an event that is a risk but no call. `operation` appears in the evidence of the risk. */
  note(code: Outcome, tenant: string, api: string, party: RecorderCall['party'], operation?: string): Promise<void>
}

/** The cache is cleared at this size. */
const ATTRIBUTIONS_MAX = 10_000

export function createPlatformRecorder({ spool, clock }: { spool: SpoolWriter; clock: Clock }): PlatformRecorder {
  const attributionOf = createAttributionCache()
  let sequence = 0

  function next(): number {
    sequence = (sequence + 1) >>> 0
    return sequence
  }

  function record(call: RecorderCall): Promise<void> {
    const { status, code, startedMs, requestId, explanation = null, terms = null } = call
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const outcome = isOutcome(code) ? code : 'served'
    const timeMs = clock.nowMs()
    const made: RecordedCall = {
      attribution: attributionOf(call),
      timeMs,
      durationUs: Math.max(0, timeMs - startedMs) * 1_000,
      upstreamUs: 0,
      admittedAgoMs: terms?.isCounted === true ? Math.max(0, timeMs - terms.admittedMs) : 0,
      status,
      outcome: outcomeIndex[outcome],
      flags: flagsOf(outcome, call),
      unitsMicro: terms?.unitsMicro ?? 0,
      requestBytes: 0,
      responseBytes: 0,
      sequence: requestId === null ? next() : Number.parseInt(requestId.slice(REQUEST_PREFIX_LENGTH), 16),
      explanation,
      onSafe: resolve,
      onRefused: (cause) => reject(new Problem('unavailable', 'The call could not be recorded.', { cause })),
    }
    spool.append(made)
    return promise
  }

  return {
    newRequestId: () => toRequestId(spool.requestPrefix, next()),
    record,
    note: (code, tenant, api, party, operation = '') =>
      record({ tenant, api, operation, party, status: 0, code, startedMs: clock.nowMs(), requestId: null }),
  }
}

/** Returns one attribution object for equal attributions, as the spool writer interns them by identity. */
function createAttributionCache(): (call: RecorderCall) => Attribution {
  const attributions = new Map<string, Attribution>()

  return ({ tenant, api, operation, party, terms = null, channel = 'http' }) => {
    const grant = party?.grant
    const { variant = grant?.variant, currency = '', priceMicro = 0 } = terms ?? {}
    const key = JSON.stringify([
      tenant,
      api,
      operation,
      grant?.subscription,
      grant?.consumer,
      party?.agent,
      party?.person,
      variant,
      currency,
      priceMicro,
      channel,
    ])
    let attribution = attributions.get(key)
    if (attribution === undefined) {
      if (attributions.size >= ATTRIBUTIONS_MAX) attributions.clear()
      const bill = { variant: variant ?? '', currency, priceMicro }
      const via = channel === 'mcp' && ({ channel } as const)
      attribution = {
        ...ANONYMOUS,
        tenant,
        api,
        operation,
        ...(party !== null && { ...named(party), ...bill }),
        ...via,
      }
      attributions.set(key, attribution)
    }
    return attribution
  }
}

function named({ grant, agent, person }: Party): Partial<Attribution> {
  const { consumer, consumerName, subscription } = grant
  return { consumer, consumerName, subscription, agent, person }
}

function flagsOf(outcome: Outcome, { operation, terms }: RecorderCall): number {
  return (
    (outcome === 'served' && operation !== '' ? FLAG_FORWARDED : 0) |
    (terms?.isCounted === true ? FLAG_COUNTED : 0) |
    (terms?.isApproaching === true ? FLAG_APPROACHING_LIMIT : 0)
  )
}
