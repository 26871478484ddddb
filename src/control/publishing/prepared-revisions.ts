/**
 * Revisions that this node has compiled because another node is about to activate them.
 *
 * A request changes nothing that is served: what was prepared is swapped in when the plan that this node makes from the registry is
 * equal to it. It is discarded after half a minute, or when the same API is prepared again.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import type { GatewayPort, PreparedRevision } from '../../boundary/plan/gateway-port.ts'
import { withoutDocuments, type PackedPlan, type PlanHead } from '../../boundary/plan/packed-plan.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { readCompiled, type CompiledOptions } from './compiled-document.ts'
import type { ActivePlan } from './serving-plan.ts'

export interface PreparedRevisions {
  /** Compiles what a request describes. Returns null, or why this node cannot. Never rejects. */
  prepare(request: string): Promise<string | null>
  /** Removes and returns what was prepared for a plan. */
  take(plan: ActivePlan): PreparedRevision | null
}

export interface PreparedRevisionsOptions extends CompiledOptions {
  readonly gateway: Pick<GatewayPort, 'prepare'>
  readonly clock: Pick<Clock, 'after'>
  /** A request could not be executed for a reason that is not in the document. */
  readonly onFailed: (cause: unknown) => void
}

/** Everything except the documents, which every node reads from the registry. */
interface Request {
  readonly specification: string
  readonly canarySpecification?: string
  readonly plan: PlanHead
  readonly slas: readonly SlaPlan[]
}

interface Kept {
  readonly request: string
  readonly prepared: PreparedRevision
  readonly cancelExpiry: () => void
}

const KEPT_MS = 30_000
const TENANT_MAX = 8
const MAX = 64
const BUSY = 'it prepares too many revisions at the moment. Retry later.'
const FAILED = 'an internal fault, which its log has'

/** Returns the request to prepare a plan. The document of a specification never changes: its id stands for it. */
export function toPrepareRequest({ plan, slas, specification, canarySpecification }: ActivePlan): string {
  const canary = canarySpecification === undefined ? {} : { canarySpecification }
  const request: Request = { specification, ...canary, plan: withoutDocuments(plan), slas }
  return JSON.stringify(request)
}

export function createPreparedRevisions(options: PreparedRevisionsOptions): PreparedRevisions {
  const kept = new KeptRevisions(options)
  return { prepare: (request) => kept.prepare(request), take: (plan) => kept.take(plan) }
}

class KeptRevisions {
  readonly #options: PreparedRevisionsOptions
  /** By API. */
  readonly #kept = new Map<string, Kept>()
  /** Number of revisions by tenant, with those that are being compiled. */
  readonly #counts = new Map<string, number>()
  #total = 0

  constructor(options: PreparedRevisionsOptions) {
    this.#options = options
  }

  async prepare(request: string): Promise<string | null> {
    try {
      const asked = JSON.parse(request) as Request
      const { plan } = asked
      if (!this.#enter(plan.tenant)) return BUSY
      const prepared = await this.#compile(asked).catch((cause: unknown) => {
        this.#leave(plan.tenant)
        throw cause
      })
      this.#keep(request, plan, prepared)
      return null
    } catch (cause) {
      if (cause instanceof Problem && cause.code === 'specification_invalid') return cause.message
      this.#options.onFailed(cause)
      return FAILED
    }
  }

  take(plan: ActivePlan): PreparedRevision | null {
    const { api } = plan.plan
    const kept = this.#kept.get(api)
    if (kept === undefined || kept.request !== toPrepareRequest(plan)) return null
    this.#release(plan.plan, kept)
    return kept.prepared
  }

  async #compile({ specification, canarySpecification, plan: head, slas }: Request): Promise<PreparedRevision> {
    const { canary, ...plan } = head
    const read = (id: string): Promise<Uint8Array> =>
      readCompiled(this.#options, plan.tenant, id, plan.isMcpOn === true)
    const document = await read(specification)
    const active: PackedPlan = { ...plan, document }
    if (canary === undefined || canarySpecification === undefined) return this.#options.gateway.prepare(active, slas)
    const planOfCanary = { ...canary.plan, document: await read(canarySpecification) }
    return this.#options.gateway.prepare({ ...active, canary: { ...canary, plan: planOfCanary } }, slas)
  }

  #keep(request: string, plan: Request['plan'], prepared: PreparedRevision): void {
    const { api } = plan
    this.#discard(plan)
    const cancelExpiry = this.#options.clock.after(KEPT_MS, () => this.#discard(plan))
    this.#kept.set(api, { request, prepared, cancelExpiry })
  }

  #discard(plan: Request['plan']): void {
    const kept = this.#kept.get(plan.api)
    if (kept === undefined) return
    this.#release(plan, kept)
    kept.prepared.abort()
  }

  #release({ api, tenant }: Request['plan'], { cancelExpiry }: Kept): void {
    cancelExpiry()
    this.#kept.delete(api)
    this.#leave(tenant)
  }

  #enter(tenant: string): boolean {
    const count = this.#counts.get(tenant) ?? 0
    if (count >= TENANT_MAX || this.#total >= MAX) return false
    this.#counts.set(tenant, count + 1)
    this.#total++
    return true
  }

  #leave(tenant: string): void {
    const count = (this.#counts.get(tenant) ?? 1) - 1
    if (count > 0) this.#counts.set(tenant, count)
    else this.#counts.delete(tenant)
    this.#total--
  }
}
