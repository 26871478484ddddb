/**
 * The revisions of one proxy: active, staged and previous ones.
 *
 *   staging   none ──revision.staged──▶ staged ──revision.staged──▶ staged (another number)
 *              ▲ ▲                       │ │ └──canary.set──▶ canary ──canary.set──▶ canary (other callers)
 *              │ └──revision.activated───┘─│──────────────────┘ │
 *              └────revision.discarded─────┘────────────────────┘
 *   active    none ──(a revision is active)──▶ serving
 *
 * A canary serves some of the callers, and the active revision the others. It is the staging revision until it is activated for
 * all, or discarded; no other revision can be staged meanwhile.
 *
 * Numbers rise by one and are never reused; 0 is a deployment from before revisions existed. Retains the last 10
 * revisions that were active, so that they can be staged again, and separately the last 10 that were never active,
 * so that frequent staging does not evict the former.
 */

import { assign, setup } from 'xstate'
import type { CanaryRule } from '../../boundary/plan/canary.ts'

export type RevisionFate = 'staging' | 'canary' | 'active' | 'superseded' | 'discarded' | 'replaced'

export interface RetainedRevision {
  readonly revision: number
  readonly fate: RevisionFate
  readonly atMs: number
}

/** The callers of the canary. */
export interface Canary {
  readonly rule: CanaryRule
  /** When the revision began to serve some of the callers. */
  readonly sinceMs: number
}

export interface ProxyContext {
  readonly nextRevision: number
  readonly stagingRevision: number | null
  readonly activeRevision: number | null
  /** Set while the staging revision is a canary; missing in snapshots of earlier versions. */
  readonly canary?: Canary | null
  /** Oldest first. */
  readonly revisions: readonly RetainedRevision[]
}

export type ProxyEvent =
  | { readonly type: 'revision.staged'; readonly atMs: number }
  | { readonly type: 'revision.activated'; readonly atMs: number }
  | { readonly type: 'revision.discarded'; readonly atMs: number }
  | { readonly type: 'canary.set'; readonly atMs: number; readonly rule: CanaryRule }

export interface ProxyInput {
  /** Whether the proxy has a deployment from before revisions existed, which becomes revision 0. */
  readonly hasRevisionZero: boolean
  readonly atMs: number
}

const RETAINED_MAX = 10

export const proxy = setup({
  types: {} as { context: ProxyContext; events: ProxyEvent; input: ProxyInput },
  guards: { isServing: ({ context }) => context.activeRevision !== null },
  actions: {
    stage: assign(({ context, event }) => ({
      nextRevision: context.nextRevision + 1,
      stagingRevision: context.nextRevision,
      revisions: retain([
        ...withFate(context.revisions, context.stagingRevision, 'replaced', event.atMs),
        { revision: context.nextRevision, fate: 'staging', atMs: event.atMs },
      ]),
    })),
    activate: assign(({ context, event }) => ({
      activeRevision: context.stagingRevision,
      stagingRevision: null,
      canary: null,
      revisions: retain(
        withFate(
          withFate(context.revisions, context.activeRevision, 'superseded', event.atMs),
          context.stagingRevision,
          'active',
          event.atMs,
        ),
      ),
    })),
    discard: assign(({ context, event }) => ({
      stagingRevision: null,
      canary: null,
      revisions: retain(withFate(context.revisions, context.stagingRevision, 'discarded', event.atMs)),
    })),
    setCanary: assign(({ context, event }) => {
      if (event.type !== 'canary.set') return {}
      const { rule, atMs } = event
      const { canary = null, stagingRevision, revisions } = context
      if (canary !== null) return { canary: { ...canary, rule } }
      return { canary: { rule, sinceMs: atMs }, revisions: withFate(revisions, stagingRevision, 'canary', atMs) }
    }),
  },
}).createMachine({
  id: 'proxy',
  context: ({ input }) => ({
    nextRevision: 1,
    stagingRevision: null,
    activeRevision: input.hasRevisionZero ? 0 : null,
    revisions: input.hasRevisionZero ? [{ revision: 0, fate: 'active', atMs: input.atMs }] : [],
  }),
  type: 'parallel',
  states: {
    staging: {
      initial: 'none',
      states: {
        none: { on: { 'revision.staged': { target: 'staged', actions: 'stage' } } },
        staged: {
          on: {
            'revision.staged': { target: 'staged', actions: 'stage' },
            'revision.activated': { target: 'none', actions: 'activate' },
            'revision.discarded': { target: 'none', actions: 'discard' },
            'canary.set': { guard: 'isServing', target: 'canary', actions: 'setCanary' },
          },
        },
        canary: {
          on: {
            'revision.activated': { target: 'none', actions: 'activate' },
            'revision.discarded': { target: 'none', actions: 'discard' },
            'canary.set': { target: 'canary', actions: 'setCanary' },
          },
        },
      },
    },
    active: {
      initial: 'none',
      states: {
        none: {
          always: { target: 'serving', guard: 'isServing' },
        },
        serving: {},
      },
    },
  },
})

function withFate(
  revisions: readonly RetainedRevision[],
  revision: number | null,
  fate: RevisionFate,
  atMs: number,
): readonly RetainedRevision[] {
  return revisions.map((each) => (each.revision === revision ? { revision, fate, atMs } : each))
}

/** Evicts the oldest superseded revisions and the oldest that were never active. */
function retain(revisions: readonly RetainedRevision[]): readonly RetainedRevision[] {
  const superseded = revisions.filter(({ fate }) => fate === 'superseded')
  const neverActive = revisions.filter(({ fate }) => fate === 'discarded' || fate === 'replaced')
  const dropped = new Set([...superseded.slice(0, -RETAINED_MAX), ...neverActive.slice(0, -RETAINED_MAX)])
  return revisions.filter((revision) => !dropped.has(revision))
}
