/**
 * The caller contexts of one gateway thread.
 *
 * The key of a context is the caller object, which lives as long as its token is cached. The table therefore cannot outgrow the
 * token cache. The main thread is asked once for the location of the counters of a subscription.
 */

import type { Caller } from '../../boundary/plan/caller.ts'
import type { MainThreadLink } from '../messages/main-thread-link.ts'
import type { Limiter } from '../../limits/limiter.ts'
import type { CompiledRevision } from './revision.ts'
import { createCallerContext, variantFor, type CallerContext } from './caller-context.ts'

export interface CallerContextsOptions {
  readonly mainThread: Pick<MainThreadLink, 'request'>
  readonly limiter: Pick<Limiter, 'open'>
}

export interface CallerContexts {
  /** Returns a promise only if this thread does not have the counters of the subscription yet. */
  of(caller: Caller, revision: CompiledRevision): CallerContext | Promise<CallerContext>
  /** Invalidates all contexts of one API, because its declaration or the location of its counters has changed. */
  release(api: string): void
}

export function createCallerContexts({ mainThread, limiter }: CallerContextsOptions): CallerContexts {
  const contexts = new WeakMap<Caller, CallerContext>()
  /** Generation of each API; `release` starts a new one. */
  const generations = new Map<string, number>()
  const generationOf = new WeakMap<CallerContext, number>()

  async function open(caller: Caller, revision: CompiledRevision): Promise<CallerContext> {
    const { api } = revision.plan
    const generation = generations.get(api) ?? 0
    const { subscription, subscriptionRevision } = caller.grant
    const variant = variantFor(caller.grant, revision)
    const block = await mainThread.request('block', { subscription, api, variant, revision: subscriptionRevision })
    if ((generations.get(api) ?? 0) !== generation) return open(caller, revision)
    // Without counters the call would be served without the limits that the API declares.
    if (block === null) throw new Error(`there are no counters for ${subscription} at ${api}`)
    return store(createCallerContext(caller, revision, limiter.open(block)), generation)
  }

  function store(context: CallerContext, generation: number): CallerContext {
    contexts.set(context.caller, context)
    generationOf.set(context, generation)
    return context
  }

  return {
    of(caller, revision) {
      const context = contexts.get(caller)
      const generation = generations.get(revision.plan.api) ?? 0
      if (context !== undefined && context.grant === caller.grant && generationOf.get(context) === generation) {
        if (context.revision === revision) return context
        if (hasSameCounters(context, revision))
          return store(createCallerContext(caller, revision, context.block), generation)
      }
      if (!revision.slas.has(variantFor(caller.grant, revision)))
        return store(createCallerContext(caller, revision, null), generation)
      return open(caller, revision)
    },
    release(api) {
      generations.set(api, (generations.get(api) ?? 0) + 1)
    },
  }
}

/** Whether the caller of a context has the same counters at `revision`. */
function hasSameCounters({ caller, revision: before }: CallerContext, revision: CompiledRevision): boolean {
  if (before.plan.api !== revision.plan.api) return false
  const variant = variantFor(caller.grant, revision)
  return variantFor(caller.grant, before) === variant && before.slas.has(variant) === revision.slas.has(variant)
}
