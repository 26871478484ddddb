/**
 * The revisions of one proxy: what serves, what is staged, what was before.
 *
 *   staging   none ──revision.staged──▶ staged ──revision.staged──▶ staged (another number)
 *              ▲ ▲                       │ │
 *              │ └──revision.activated───┘ │
 *              └────revision.discarded─────┘
 *   active    none ──(a revision is active)──▶ serving
 *
 * Numbers rise by one and are never used twice; 0 stands for a deployment older than revisions. The
 * last 10 that have served are kept, so that they can be staged again, and the last 10 that never did:
 * however often something is staged, what has served is not pushed out.
 */

import { assign, setup } from 'xstate'

export type RevisionFate = 'staging' | 'active' | 'superseded' | 'discarded' | 'replaced'

export interface KeptRevision {
  readonly revision: number
  readonly fate: RevisionFate
  readonly atMs: number
}

export interface ProxyContext {
  readonly nextRevision: number
  readonly stagingRevision: number | null
  readonly activeRevision: number | null
  /** Oldest first. */
  readonly revisions: readonly KeptRevision[]
}

export type ProxyEvent =
  | { readonly type: 'revision.staged'; readonly atMs: number }
  | { readonly type: 'revision.activated'; readonly atMs: number }
  | { readonly type: 'revision.discarded'; readonly atMs: number }

export interface ProxyInput {
  /** A deployment that is older than revisions serves as revision 0. */
  readonly hasRevisionZero: boolean
  readonly atMs: number
}

const KEPT_MAX = 10

export const proxy = setup({
  types: {} as { context: ProxyContext; events: ProxyEvent; input: ProxyInput },
  guards: { isServing: ({ context }) => context.activeRevision !== null },
  actions: {
    stage: assign(({ context, event }) => ({
      nextRevision: context.nextRevision + 1,
      stagingRevision: context.nextRevision,
      revisions: kept([
        ...withFate(context.revisions, context.stagingRevision, 'replaced', event.atMs),
        { revision: context.nextRevision, fate: 'staging', atMs: event.atMs },
      ]),
    })),
    activate: assign(({ context, event }) => ({
      activeRevision: context.stagingRevision,
      stagingRevision: null,
      revisions: kept(
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
      revisions: kept(withFate(context.revisions, context.stagingRevision, 'discarded', event.atMs)),
    })),
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
  revisions: readonly KeptRevision[],
  revision: number | null,
  fate: RevisionFate,
  atMs: number,
): readonly KeptRevision[] {
  return revisions.map((kept) => (kept.revision === revision ? { revision, fate, atMs } : kept))
}

/** Lets go of the oldest of what has served, and of what never has; what serves or waits stays. */
function kept(revisions: readonly KeptRevision[]): readonly KeptRevision[] {
  const served = revisions.filter(({ fate }) => fate === 'superseded')
  const unserved = revisions.filter(({ fate }) => fate === 'discarded' || fate === 'replaced')
  const dropped = new Set([...served.slice(0, -KEPT_MAX), ...unserved.slice(0, -KEPT_MAX)])
  return revisions.filter((revision) => !dropped.has(revision))
}
