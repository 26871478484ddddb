/**
 * The revisions of one gateway thread: those that serve, those that sleep, and those that are prepared for a swap.
 *
 * A thread that starts compiles only large documents. A small one sleeps, packed, until the first call of its API, which waits while
 * it is compiled: most APIs of a large catalogue are not called for hours, and compiling all of them would delay the start by minutes.
 * Any stranger can begin that, for all APIs at once, so that sleeping revisions are compiled one after the other, in slices.
 * Calls in flight keep the revision object that they started with.
 */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { unpackedBytes, type PackedPlan } from '../../boundary/plan/packed-plan.ts'
import type { RevisionPlan } from '../../boundary/plan/route-plan.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import { toWithheldPlan, withWithheldCanary } from '../../boundary/plan/withheld-plan.ts'
import type { UpstreamGates } from '../backend/upstream-gates.ts'
import type { CompiledRevision, RevisionSettings } from '../call/revision.ts'
import type { StoredRevision } from '../messages/messages.ts'
import { createPace, type Pace, type PaceOptions } from '../../foundation/runtime/pace.ts'
import type { Limiter } from '../../limits/limiter.ts'
import {
  closeBackends,
  compileStored,
  gateKeysOf,
  setGates,
  setSlaOf,
  withMembership,
  withSlas,
} from './compile-stored.ts'

export interface ServedRevisions {
  /** Returns the revision that serves an API; none while it sleeps. */
  of(this: void, api: string): CompiledRevision | undefined
  /** Wakes the revision of an API for one call; resolves when `of` returns what serves it. Null if none sleeps. */
  wake(this: void, api: string): Promise<void> | null
  /** Returns the revision of the only API besides that of the platform; null if there is none, or several, or it sleeps. */
  only(this: void): CompiledRevision | null
  /** Returns facts of the active revision of an API, without waking it. */
  planOf(api: string): Facts | undefined
  /** Serves the revisions that a starting thread is given. The calls of one that cannot be compiled are refused. */
  restore(revisions: readonly StoredRevision[]): Promise<void>
  /** Compiles a revision; `swap` or `abort` with the same id must follow. */
  prepare(id: number, plan: PackedPlan, slas: readonly SlaPlan[]): Promise<void>
  swap(id: number, memberOfProductIds: readonly string[]): void
  abort(id: number): void
  /** Stops serving an API. */
  withdraw(api: string): void
  setSla(sla: SlaPlan): void
  setMembership(api: string, productIds: readonly string[]): void
}

export interface ServedRevisionsOptions extends Pick<PaceOptions, 'clock' | 'elapsedMs'> {
  /** Returns the number of calls in flight, including those that wait for `wake`. */
  readonly callsInFlight: () => number
  readonly limiter: Limiter
  readonly settings: RevisionSettings
  readonly gates: Pick<UpstreamGates, 'of' | 'drop'>
  /** Called when a stored revision cannot be compiled. */
  readonly onWithheld: (api: string, cause: unknown) => void
}

type Facts = Pick<RevisionPlan, 'tenant' | 'allowedScopes'>

/** Calls that wait for a sleeping revision are calls, too: waking them takes turns with the others. */
const PAUSE_PER_SLICE_OF_WAKING = 1

/** Measured on documents of real publishers: compiling 16 KiB takes 1 to 12 ms, which the first call waits for. */
const SLEEPING_BYTES_MAX = 16 * 1024

export function createServedRevisions(options: ServedRevisionsOptions): ServedRevisions {
  return new Revisions(options)
}

interface Waking {
  readonly awake: Promise<void>
  calls: number
}

class Revisions implements ServedRevisions {
  readonly #options: ServedRevisionsOptions
  readonly #serving = new Map<string, CompiledRevision>()
  readonly #sleeping = new Map<string, StoredRevision>()
  readonly #waking = new Map<string, Waking>()
  /** Settles when nothing is being woken; never rejects. */
  #lastWaking: Promise<void> = Promise.resolve()
  /** Calls that wait for a revision. */
  #callsWaiting = 0
  readonly #wakingPace: Pace
  readonly #prepared = new Map<number, CompiledRevision>()

  constructor(options: ServedRevisionsOptions) {
    this.#options = options
    this.#wakingPace = this.#createPace(PAUSE_PER_SLICE_OF_WAKING)
  }

  readonly of = (api: string): CompiledRevision | undefined => this.#serving.get(api)

  readonly wake = (api: string): Promise<void> | null => {
    if (!this.#sleeping.has(api)) return null
    const waking = this.#waking.get(api) ?? this.#beginWaking(api)
    waking.calls++
    this.#callsWaiting++
    return waking.awake
  }

  readonly only = (): CompiledRevision | null => {
    const apis = [...this.#serving.keys(), ...this.#sleeping.keys()].filter((api) => api !== PLATFORM_API)
    return apis.length === 1 ? (this.#serving.get(apis[0]!) ?? null) : null
  }

  planOf(api: string): Facts | undefined {
    return this.#serving.get(api)?.plan ?? this.#sleeping.get(api)?.plan
  }

  async restore(revisions: readonly StoredRevision[]): Promise<void> {
    for (const revision of revisions) {
      const { api } = revision.plan
      if (unpackedBytes(revision.plan) <= SLEEPING_BYTES_MAX) this.#sleeping.set(api, revision)
      else this.#serve(await this.#compileOrWithhold(revision))
    }
  }

  async prepare(id: number, plan: PackedPlan, slas: readonly SlaPlan[]): Promise<void> {
    this.#prepared.set(id, await this.#compile({ plan, slas }))
  }

  swap(id: number, memberOfProductIds: readonly string[]): void {
    const revision = this.#prepared.get(id)
    if (revision === undefined) throw new Error(`no revision is prepared under ${id}`)
    this.#prepared.delete(id)
    this.#serve(withMembership(revision, memberOfProductIds))
  }

  abort(id: number): void {
    const revision = this.#prepared.get(id)
    if (revision !== undefined) closeBackends(revision)
    this.#prepared.delete(id)
  }

  withdraw(api: string): void {
    this.#sleeping.delete(api)
    const previous = this.#serving.get(api)
    this.#serving.delete(api)
    this.#retire(previous)
  }

  setSla(sla: SlaPlan): void {
    const { api, variant } = sla
    const sleeping = this.#sleeping.get(api)
    if (sleeping !== undefined) {
      const slas = [...sleeping.slas.filter((each) => each.variant !== variant), sla]
      this.#sleeping.set(api, { ...sleeping, slas })
    }
    const revision = this.#serving.get(api)
    if (revision !== undefined) setSlaOf(revision, sla, this.#options.limiter)
  }

  setMembership(api: string, memberOfProductIds: readonly string[]): void {
    const sleeping = this.#sleeping.get(api)
    if (sleeping !== undefined) this.#sleeping.set(api, { ...sleeping, plan: { ...sleeping.plan, memberOfProductIds } })
    const revision = this.#serving.get(api)
    if (revision !== undefined) this.#serving.set(api, withMembership(revision, memberOfProductIds))
  }

  #serve(revision: CompiledRevision): void {
    const { api } = revision.plan
    const previous = this.#serving.get(api)
    setGates(revision, this.#options.gates.of)
    this.#serving.set(api, revision)
    this.#sleeping.delete(api)
    this.#retire(previous)
  }

  /** Closes the connections of a revision that serves no more calls, and evicts the gates that no other one has. */
  #retire(revision: CompiledRevision | undefined): void {
    if (revision === undefined) return
    const kept = new Set(gateKeysOf(this.#serving.get(revision.plan.api)))
    for (const key of gateKeysOf(revision)) if (!kept.has(key)) this.#options.gates.drop(key)
    closeBackends(revision)
  }

  #createPace(pausePerSlice?: number): Pace {
    const isBusy = (): boolean => this.#options.callsInFlight() > this.#callsWaiting
    return createPace({ ...this.#options, isBusy, ...(pausePerSlice !== undefined && { pausePerSlice }) })
  }

  #compile(revision: StoredRevision, pace = this.#createPace()): Promise<CompiledRevision> {
    return compileStored(this.#options, revision, pace)
  }

  async #compileOrWithhold(revision: StoredRevision, pace?: Pace): Promise<CompiledRevision> {
    const { plan, slas } = revision
    try {
      return await this.#compile(revision, pace)
    } catch (cause) {
      this.#options.onWithheld(plan.api, cause)
    }
    const withheld = { plan: toWithheldPlan(plan), slas: [] }
    if (plan.canary === undefined) return this.#compile(withheld, pace)
    return this.#compile({ plan: withWithheldCanary(plan), slas }, pace).catch(() => this.#compile(withheld, pace))
  }

  #beginWaking(api: string): Waking {
    const awake = this.#lastWaking
      .then(() => this.#wakeUp(api))
      .finally(() => {
        this.#waking.delete(api)
        this.#callsWaiting -= waking.calls
      })
    this.#lastWaking = awake.catch(() => {})
    const waking: Waking = { awake, calls: 0 }
    this.#waking.set(api, waking)
    return waking
  }

  async #wakeUp(api: string): Promise<void> {
    const stored = this.#sleeping.get(api)
    if (stored === undefined) return
    const compiled = await this.#compileOrWithhold(stored, this.#wakingPace)
    const latest = this.#sleeping.get(api)
    if (latest === undefined) closeBackends(compiled)
    else this.#serve(latest === stored ? compiled : this.#update(compiled, latest))
  }

  /** Returns a compiled revision with what has changed meanwhile, which is not the document. */
  #update(compiled: CompiledRevision, { plan, slas }: StoredRevision): CompiledRevision {
    return withSlas(withMembership(compiled, plan.memberOfProductIds), slas, this.#options.limiter)
  }
}
