/**
 * One episode of risk: how grave it is now, from its first event to five quiet minutes.
 *
 *   Info ──count ≥ warningFrom──▶ Warning ──count ≥ criticalFrom──▶ Critical
 *    ▲ └───────────────count ≥ criticalFrom────────────────────────────▲ │
 *    └──────count < warningFrom──────┘ ▲────────count < criticalFrom─────┘   (down: held for ten seconds)
 *   every state ──quiet──▶ cleared
 *
 * The actor hears of windows and of quiet, never of single calls: its load grows with the number of
 * episodes, not with traffic. It rises to what the window calls for at once and calms down one step at
 * a time, ten seconds a step at least, so that a count at a threshold is no flood of events; what has one
 * severity only ever clears.
 */

import { createActor, emit, setup } from 'xstate'
import { severityOf, type RiskRule } from './risk-rules.ts'
import type { Phase, Severity } from '../domain/risk.ts'

export interface EpisodeInput {
  readonly rule: RiskRule
}

export type EpisodeEvent =
  | {
      readonly type: 'window.counted'
      readonly count: number
      /** How many of them are grave. */
      readonly grave: number
      /** How long the severity has been what it is. */
      readonly heldMs: number
    }
  | { readonly type: 'quiet' }

export interface EpisodeChanged {
  type: 'episode.changed'
  phase: Phase
  severity: Severity
}

const STEP_MS = 10_000

const calls = ({ context, event }: { context: EpisodeInput; event: EpisodeEvent }, severity: Severity): boolean =>
  event.type === 'window.counted' && severityOf(context.rule, event.count, event.grave) === severity

export const riskEpisode = setup({
  types: {} as { input: EpisodeInput; context: EpisodeInput; events: EpisodeEvent; emitted: EpisodeChanged },
  guards: {
    callsFor: ({ context, event }, severity: Severity) => calls({ context, event }, severity),
    calmsTo: ({ context, event }, severities: readonly Severity[]) =>
      event.type === 'window.counted' &&
      event.heldMs >= STEP_MS &&
      severities.some((severity) => calls({ context, event }, severity)),
  },
  actions: {
    tell: emit((_, params: { phase: Phase; severity: Severity }) => ({ type: 'episode.changed' as const, ...params })),
  },
}).createMachine({
  id: 'riskEpisode',
  context: ({ input }) => input,
  initial: 'new',
  states: {
    new: {
      on: {
        'window.counted': [
          {
            target: 'Critical',
            guard: { type: 'callsFor', params: 'Critical' },
            actions: { type: 'tell', params: { phase: 'opened', severity: 'Critical' } },
          },
          {
            target: 'Warning',
            guard: { type: 'callsFor', params: 'Warning' },
            actions: { type: 'tell', params: { phase: 'opened', severity: 'Warning' } },
          },
          { target: 'Info', actions: { type: 'tell', params: { phase: 'opened', severity: 'Info' } } },
        ],
      },
    },
    Info: {
      on: {
        'window.counted': [
          {
            target: 'Critical',
            guard: { type: 'callsFor', params: 'Critical' },
            actions: { type: 'tell', params: { phase: 'escalated', severity: 'Critical' } },
          },
          {
            target: 'Warning',
            guard: { type: 'callsFor', params: 'Warning' },
            actions: { type: 'tell', params: { phase: 'escalated', severity: 'Warning' } },
          },
        ],
        quiet: { target: 'cleared', actions: { type: 'tell', params: { phase: 'cleared', severity: 'Info' } } },
      },
    },
    Warning: {
      on: {
        'window.counted': [
          {
            target: 'Critical',
            guard: { type: 'callsFor', params: 'Critical' },
            actions: { type: 'tell', params: { phase: 'escalated', severity: 'Critical' } },
          },
          {
            target: 'Info',
            guard: { type: 'calmsTo', params: ['Info'] },
            actions: { type: 'tell', params: { phase: 'deescalated', severity: 'Info' } },
          },
        ],
        quiet: { target: 'cleared', actions: { type: 'tell', params: { phase: 'cleared', severity: 'Warning' } } },
      },
    },
    Critical: {
      on: {
        'window.counted': {
          target: 'Warning',
          guard: { type: 'calmsTo', params: ['Info', 'Warning'] },
          actions: { type: 'tell', params: { phase: 'deescalated', severity: 'Warning' } },
        },
        quiet: { target: 'cleared', actions: { type: 'tell', params: { phase: 'cleared', severity: 'Critical' } } },
      },
    },
    cleared: { type: 'final' },
  },
})

export interface EpisodeActor {
  /** Tells of a window or of quiet; `onChange` hears what follows, before this returns. */
  send(event: EpisodeEvent): void
  /** Plain JSON. */
  snapshot(): EpisodeSnapshot
}

export interface EpisodeSnapshot {
  readonly value: 'new' | 'Info' | 'Warning' | 'Critical' | 'cleared'
}

/**
 * An actor, new or from a snapshot; the rule is the present one in both cases.
 *
 * It wakes up for an event and is its state's name in between: an actor that is kept weighs 15 KB, and
 * there are tens of thousands of episodes that hear of something once in a while.
 */
export function startEpisode(
  rule: RiskRule,
  snapshot: EpisodeSnapshot | null,
  onChange: (change: EpisodeChanged) => void,
): EpisodeActor {
  let value: EpisodeSnapshot['value'] = snapshot?.value ?? 'new'

  return {
    send(event) {
      if (value === 'cleared') return
      const context = { rule }
      const actor = createActor(riskEpisode, { input: context, snapshot: riskEpisode.resolveState({ value, context }) })
      actor.on('episode.changed', onChange)
      actor.start()
      actor.send(event)
      value = actor.getSnapshot().value
      actor.stop()
    },
    snapshot: () => ({ value }),
  }
}
