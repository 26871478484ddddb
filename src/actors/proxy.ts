/**
 * The revisions of one proxy: what serves, what is staged, what was before.
 *
 *   staging   none ──revision.staged──▶ staged ──revision.staged──▶ staged (another number)
 *               ▲                         │ ▲
 *               └──revision.activated─────┤ │
 *               └──revision.discarded─────┘
 *   active    none ──revision.activated──▶ serving ──revision.activated──▶ serving
 *
 * Numbers rise by one and are never used twice; 0 stands for a deployment older than revisions. Of
 * what no longer serves the last 10 are kept, so that they can be staged again.
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
  guards: { hasRevisionZero: ({ context }) => context.activeRevision !== null },
  actions: {
    stage: assign(({ context, event }) => ({
      nextRevision: context.nextRevision + 1,
      stagingRevision: context.nextRevision,
      revisions: keep(withFate(context.revisions, context.stagingRevision, 'replaced', event.atMs), {
        revision: context.nextRevision,
        fate: 'staging',
        atMs: event.atMs,
      }),
    })),
    activate: assign(({ context, event }) => ({
      activeRevision: context.stagingRevision,
      stagingRevision: null,
      revisions: withFate(
        withFate(context.revisions, context.activeRevision, 'superseded', event.atMs),
        context.stagingRevision,
        'active',
        event.atMs,
      ),
    })),
    discard: assign(({ context, event }) => ({
      stagingRevision: null,
      revisions: withFate(context.revisions, context.stagingRevision, 'discarded', event.atMs),
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
          always: { target: 'serving', guard: 'hasRevisionZero' },
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

/** Adds one, and lets go of the oldest that neither serve nor wait. */
function keep(revisions: readonly KeptRevision[], added: KeptRevision): readonly KeptRevision[] {
  const all = [...revisions, added]
  const past = all.filter(({ fate }) => fate !== 'active' && fate !== 'staging')
  const dropped = new Set(past.slice(0, Math.max(0, past.length - KEPT_MAX)))
  return all.filter((revision) => !dropped.has(revision))
}
