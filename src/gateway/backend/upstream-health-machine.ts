/**
 * The backend of one API: whether calls may go there.
 *
 *   healthy ⇄ degraded ──▶ unhealthy ──probe answers, or it has cooled──▶ recovering ──3 good──▶ healthy
 *      └───────────────────────▲ └──────────────────────one bad──────────────┘
 *
 * It hears of windows of calls and of probes, never of single calls. Slowness and some failures degrade
 * it, and calls go on; most of its calls failing, or three probes on end, shut it off. `tries` counts
 * recoveries that failed, so that each is tried later than the one before.
 */

import { assign, setup } from 'xstate'

export interface UpstreamWindow {
  readonly type: 'window'
  readonly ok: number
  readonly failed: number
  /** Answers take long, of calls enough to say so. */
  readonly isSlow: boolean
}

export type UpstreamEvent =
  UpstreamWindow | { readonly type: 'probe.ok' } | { readonly type: 'probe.failed' } | { readonly type: 'cooled' }

interface Context {
  readonly good: number
  readonly tries: number
  readonly probesFailed: number
}

const FAILED_MIN = 5
const GOOD_MIN = 3
const PROBES_MAX = 3

const isWindow = (event: UpstreamEvent): event is UpstreamWindow => event.type === 'window'

export const upstreamHealth = setup({
  types: {} as { context: Context; events: UpstreamEvent; input: undefined },
  guards: {
    isDown: ({ event }) => isWindow(event) && event.failed >= FAILED_MIN && event.failed >= event.ok,
    isWorse: ({ event }) =>
      isWindow(event) && (event.isSlow || (event.failed >= FAILED_MIN && event.failed * 10 >= event.ok + event.failed)),
    isFine: ({ event }) => isWindow(event) && !event.isSlow && event.failed * 20 <= event.ok + event.failed,
    hasFailed: ({ event }) => isWindow(event) && event.failed > 0,
    isEnough: ({ context, event }) => context.good + (isWindow(event) ? event.ok : 1) >= GOOD_MIN,
    isLastProbe: ({ context }) => context.probesFailed + 1 >= PROBES_MAX,
  },
  actions: {
    noteProbe: assign({ probesFailed: ({ context }) => context.probesFailed + 1 }),
    forgetProbes: assign({ probesFailed: 0 }),
    addGood: assign({ good: ({ context, event }) => context.good + (isWindow(event) ? event.ok : 1) }),
    begin: assign({ good: 0, probesFailed: 0 }),
    fallBack: assign({ tries: ({ context }) => context.tries + 1 }),
    recover: assign({ good: 0, tries: 0, probesFailed: 0 }),
  },
}).createMachine({
  id: 'upstreamHealth',
  context: { good: 0, tries: 0, probesFailed: 0 },
  initial: 'healthy',
  states: {
    healthy: {
      on: {
        window: [
          { guard: 'isDown', target: 'unhealthy' },
          { guard: 'isWorse', target: 'degraded' },
        ],
        'probe.failed': [{ guard: 'isLastProbe', target: 'unhealthy' }, { actions: 'noteProbe' }],
        'probe.ok': { actions: 'forgetProbes' },
      },
    },
    degraded: {
      on: {
        window: [
          { guard: 'isDown', target: 'unhealthy' },
          { guard: 'isWorse', target: 'degraded' },
          { guard: 'isFine', target: 'healthy' },
        ],
        'probe.failed': [{ guard: 'isLastProbe', target: 'unhealthy' }, { actions: 'noteProbe' }],
        'probe.ok': { actions: 'forgetProbes' },
      },
    },
    unhealthy: {
      entry: 'begin',
      on: {
        'probe.ok': { target: 'recovering' },
        cooled: { target: 'recovering' },
      },
    },
    recovering: {
      on: {
        window: [
          { guard: 'hasFailed', target: 'unhealthy', actions: 'fallBack' },
          { guard: 'isEnough', target: 'healthy', actions: 'recover' },
          { actions: 'addGood' },
        ],
        'probe.ok': [{ guard: 'isEnough', target: 'healthy', actions: 'recover' }, { actions: 'addGood' }],
        'probe.failed': { target: 'unhealthy', actions: 'fallBack' },
      },
    },
  },
})
