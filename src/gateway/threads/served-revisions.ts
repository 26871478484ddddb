/**
 * The compiled revisions of one gateway thread: those that serve, and those that are prepared for a swap.
 *
 * Calls in flight keep the revision object that they started with.
 */

import { unpackPlan, type PackedPlan } from '../../plan/packed-plan.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
import type { UpstreamGates } from '../backend/upstream-gates.ts'
import { compileRevision, operationIdsOf, type CompiledRevision, type RevisionSettings } from '../call/revision.ts'
import { createPace, type PaceOptions } from '../../runtime/pace.ts'
import type { Limiter } from '../limits/limiter.ts'

export interface ServedRevisions {
  /** Returns the revision that serves an API. */
  of(this: void, api: string): CompiledRevision | undefined
  /** Compiles a revision; `swap` or `abort` with the same id must follow. */
  prepare(id: number, plan: PackedPlan, slas: readonly SlaPlan[]): Promise<void>
  swap(id: number, memberOfProductIds: readonly string[]): void
  abort(id: number): void
  /** Stops serving an API. */
  withdraw(api: string): void
  setSla(sla: SlaPlan): void
  setMembership(api: string, productIds: readonly string[]): void
}

export interface ServedRevisionsOptions extends Pick<PaceOptions, 'isBusy' | 'clock'> {
  readonly limiter: Limiter
  readonly settings: RevisionSettings
  readonly gates: Pick<UpstreamGates, 'of'>
}

export function createServedRevisions(options: ServedRevisionsOptions): ServedRevisions {
  const { limiter, settings, gates } = options
  const serving = new Map<string, CompiledRevision>()
  const prepared = new Map<number, CompiledRevision>()

  return {
    of: (api) => serving.get(api),
    async prepare(id, plan, slas) {
      const pace = createPace(options)
      prepared.set(id, await compileRevision(await unpackPlan(plan, pace), slas, limiter, settings, pace))
    },
    swap(id, memberOfProductIds) {
      const revision = prepared.get(id)
      if (revision === undefined) throw new Error(`no revision is prepared under ${id}`)
      prepared.delete(id)
      const next = { ...revision, plan: { ...revision.plan, memberOfProductIds } }
      const { api } = next.plan
      const previous = serving.get(api)
      if (next.backend !== null) next.backend.gate = gates.of(api)
      serving.set(api, next)
      previous?.backend?.close()
    },
    abort(id) {
      prepared.get(id)?.backend?.close()
      prepared.delete(id)
    },
    withdraw(api) {
      serving.get(api)?.backend?.close()
      serving.delete(api)
    },
    setSla(sla) {
      const revision = serving.get(sla.api)
      revision?.slas.set(sla.variant, limiter.compile(sla, operationIdsOf(revision.plan)))
    },
    setMembership(api, productIds) {
      const revision = serving.get(api)
      if (revision === undefined) return
      serving.set(api, { ...revision, plan: { ...revision.plan, memberOfProductIds: productIds } })
    },
  }
}
