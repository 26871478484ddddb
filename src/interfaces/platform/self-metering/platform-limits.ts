/**
 * Limits the calls of `platform-v1` by its declaration, in the main thread, which serves all of them.
 *
 * The counters are separate from those of the gateway threads, which never count these calls and so need no lane for the main
 * thread. A change of the declaration takes effect between two calls.
 *
 * A declaration cannot lock the operator out: if the declaration in force refuses a call of the operator's tenant that reads or
 * replaces declarations, the call is admitted up to 10 times per minute and subscription. It does not count against the
 * declaration and costs no units. These calls are counted on each node.
 *
 * With several nodes a call is admitted from a lease, as in the gateway, and waits if there is none. If none can be had, it is refused, or
 * counted on this node alone if `servesWithoutLeases` says so. Calls of the operator's tenant are always counted on this node alone, so
 * that an operator can work while Redis is away, and right after it has lost its data.
 */

import type { Caller } from '../../../boundary/plan/caller.ts'
import { PLATFORM_API } from '../../../foundation/domain/platform-api.ts'
import { Problem } from '../../../foundation/domain/problem.ts'
import { createLeaseWaits, type LeaseWaits } from '../../../limits/lease-waits.ts'
import { createLimitMemory, type LimitMemory } from '../../../limits/limit-memory.ts'
import { SlotWatch } from '../../../limits/slot-watch.ts'
import { toLimitRefusal } from '../../../limits/limit-refusal.ts'
import {
  ADMITTED,
  createLimiter,
  CLOSED,
  LACKING,
  type Block,
  type CompiledSla,
  type Limiter,
} from '../../../limits/limiter.ts'
import { parseHeaderLines } from '../../../foundation/runtime/parse-header-lines.ts'
import { toLimitLines, toQuotaLines } from '../../../limits/limit-headers.ts'
import { parseDeclaration } from '../../../documents/opensla/declaration.ts'
import type { Grant } from '../../../boundary/plan/grant.ts'
import type { SlaPlan } from '../../../boundary/plan/sla-plan.ts'
import type { AdmittedCall, Attempt, CallLimits, RefusedCall } from '../call-limits.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { Log } from '../../../foundation/runtime/log.ts'

export interface PlatformLimits extends CallLimits {
  /** Replaces the declaration in force for its variant; declarations of other APIs are ignored. */
  setPlan(plan: SlaPlan): void
}

export interface PlatformLimitsOptions {
  /** Counters for one thread. */
  readonly memory: Pick<LimitMemory, 'blockFor' | 'redeclare' | 'refill'>
  readonly operationIds: readonly string[]
  readonly operatorTenant: string
  readonly servesWithoutLeases: boolean
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  /** The same clock as that of the leases; tests replace it. */
  readonly monotonicMs?: () => number
}

/** Operations that read and replace declarations. */
const REPAIRS: ReadonlySet<string> = new Set([
  'createOpenSlaSpec',
  'listOpenSlaSpecs',
  'getOpenSlaSpec',
  'getOpenSlaContent',
])
/** Key of the repair counters; no API has this name. */
const REPAIR_NAME = 'platform-v1 repair'
const REPAIR_DECLARATION = {
  opensla: '1.0.0',
  info: { title: 'Repair', version: '1.0.0' },
  limits: [{ name: 'repair', rate: { value: 10, duration: 'minute' } }],
  resourceUnits: { default: 0 },
}

const NOT_WAITED: Attempt = { waits: 0, isReached: true }
/** Bounds the waits of a call: others may take the leases again and again. */
const WAITS_MAX = 20
const unavailable = (forMs: number): RefusedCall => ({
  code: 'limits_unavailable',
  detail: 'The limits of this subscription are shared by several nodes and cannot be counted at the moment.',
  headers: ['Retry-After', String(Math.max(1, Math.ceil(forMs / 1_000)))],
  extensions: {},
})

export function createPlatformLimits(options: PlatformLimitsOptions): PlatformLimits {
  const { memory, operationIds, operatorTenant, servesWithoutLeases, clock } = options
  const counters = new PlatformCounters(options)
  const positions = new Map(operationIds.map((id, position) => [id, position]))
  /** The declarations in force, by variant. */
  const inForce = new Map<string, CompiledSla>()

  return {
    setPlan(plan) {
      if (plan.api !== PLATFORM_API) return
      inForce.set(plan.variant, counters.compile(plan))
      memory.redeclare(plan)
    },
    admit(caller, operationId, { waits, isReached } = NOT_WAITED) {
      const { variant, tenant } = caller.grant
      const sla = inForce.get(variant) ?? inForce.get('')
      const operation = positions.get(operationId)
      if (sla === undefined || operation === undefined) throw new Error(`${operationId} has no limits`)
      const nowMs = clock.nowMs()
      const mayWait = isReached && waits < WAITS_MAX
      const isOperator = tenant === operatorTenant
      const isAlone = isOperator || (!mayWait && servesWithoutLeases)
      const result = counters.count(caller, sla, operation, { nowMs, isAlone })
      if (result === LACKING_LEASES) {
        const isVain = counters.areLeasesClosed && waits > 0
        return mayWait && !isVain
          ? { wait: counters.wait().then(toAttempt(waits + 1)) }
          : unavailable(counters.closedForMs)
      }
      const isRepair = 'code' in result && isOperator && REPAIRS.has(operationId)
      if (!isRepair) return result
      const repaired = counters.count(caller, counters.repair, operation, { nowMs, isAlone: true })
      return repaired === LACKING_LEASES || 'code' in repaired ? result : repaired
    },
  }
}

const toAttempt = (waits: number) => (isReached: boolean) => ({ waits, isReached })

/** The result of a decision that has to wait. */
const LACKING_LEASES = Symbol('lacking leases')

interface SlotHolder {
  readonly close: () => void
}

interface At {
  readonly nowMs: number
  readonly isAlone: boolean
}

/** Counts calls of the main thread against compiled declarations. */
class PlatformCounters {
  readonly repair: CompiledSla
  readonly #memory: PlatformLimitsOptions['memory']
  /** Counts on this node alone. */
  readonly #repairs = createLimitMemory({ threads: 1 })
  readonly #operationIds: readonly string[]
  readonly #limiter: Limiter
  readonly #waits: LeaseWaits
  readonly #slots: SlotWatch<SlotHolder>
  readonly #blocks = new WeakMap<object, Block>()

  constructor({ memory, operationIds, clock, log, monotonicMs }: PlatformLimitsOptions) {
    this.#memory = memory
    this.#operationIds = operationIds
    this.#limiter = createLimiter({ thread: 0, threads: 1, monotonicMs })
    this.#slots = new SlotWatch({
      thread: 0,
      end: ({ close }) => close(),
      clock,
      onFault: (cause) => log.error({ err: cause }, 'a call whose slot is lost could not be ended; it runs on'),
      ...(monotonicMs && { monotonicMs }),
    })
    this.#waits = createLeaseWaits((need) => memory.refill(need))
    const declaration = Buffer.from(JSON.stringify(REPAIR_DECLARATION))
    this.repair = this.compile(parseDeclaration(declaration, { technicalName: REPAIR_NAME, operationIds }))
  }

  compile(plan: SlaPlan): CompiledSla {
    return this.#limiter.compile(plan, this.#operationIds)
  }

  count(
    { grant }: Caller,
    sla: CompiledSla,
    operation: number,
    { nowMs, isAlone }: At,
  ): AdmittedCall | RefusedCall | typeof LACKING_LEASES {
    const block = this.#blockOf(grant, sla)
    this.#limiter.take(sla, block, operation, nowMs, isAlone)
    const { verdict } = this.#limiter
    if (verdict.refusedBy === LACKING || verdict.refusedBy === CLOSED) return LACKING_LEASES
    if (verdict.refusedBy !== ADMITTED) {
      const refusal = toLimitRefusal(sla, operation, verdict, nowMs)
      return { ...refusal, headers: [...this.#headersOf(sla, operation), ...refusal.headers] }
    }
    return this.#toAdmitted(sla, block, operation, { nowMs, isAlone })
  }

  /** Returns name, value, … of the headers about the limits of the last call. */
  #headersOf(sla: CompiledSla, operation: number): readonly string[] {
    const { verdict } = this.#limiter
    return parseHeaderLines(toLimitLines(sla, operation, verdict) + toQuotaLines(sla, verdict.quotaUsedMicro))
  }

  /** Whether the grantor of a lease that the last call of `count` lacked does not know all leases yet. */
  get areLeasesClosed(): boolean {
    return this.#limiter.verdict.isClosed
  }

  get closedForMs(): number {
    return this.#limiter.verdict.closedForMs
  }

  /** Asks for the leases that the last call of `count` lacked. */
  wait(): Promise<boolean> {
    return this.#waits.wait(this.#limiter.verdict.lacking)
  }

  #blockOf({ subscription, subscriptionRevision }: Grant, sla: CompiledSla): Block {
    const memory = sla === this.repair ? this.#repairs : this.#memory
    const ref = memory.blockFor(subscription, sla.plan, subscriptionRevision)
    // A call without counters would be a call without limits.
    if (ref === null) throw new Problem('unavailable', 'The limits of this call cannot be counted at the moment.')
    const known = this.#blocks.get(ref)
    if (known !== undefined) return known
    const block = this.#limiter.open(ref)
    this.#blocks.set(ref, block)
    return block
  }

  /** Reads the verdict of the last `take`, which the next one overwrites. */
  #toAdmitted(sla: CompiledSla, block: Block, operation: number, { nowMs, isAlone }: At): AdmittedCall {
    const limiter = this.#limiter
    const { gauge, quotaStartMs, leaseStartMs, approaching: isApproaching } = limiter.verdict
    const unitsMicro = sla.unitsMicro[operation]!
    const { variant, currency, priceMicro } = sla.plan
    const isCounted = sla !== this.repair
    const slots = this.#slots
    let holder: SlotHolder | null = null
    let isCharged = true
    let isRunning = true
    return {
      headers: this.#headersOf(sla, operation),
      terms: { admittedMs: nowMs, unitsMicro, isCounted, isApproaching, variant, currency, priceMicro },
      giveBack() {
        if (isCharged) limiter.giveBack(sla, block, unitsMicro, quotaStartMs, leaseStartMs)
        isCharged = false
      },
      end() {
        if (!isRunning) return
        isRunning = false
        if (holder !== null) slots.leave(holder)
        limiter.release(block, gauge)
      },
      onSlotLost(close) {
        if (!isRunning || isAlone) return
        slots.enter((holder = { close }), block, gauge)
      },
    }
  }
}
