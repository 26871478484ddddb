import { describe, expect, it } from 'vitest'
import { startEpisode } from '../../../src/risk/risk-episode-machine.ts'
import {
  changeOnQuiet,
  changeOnWindow,
  stateAfter,
  type EpisodeChange,
  type EpisodeState,
} from '../../../src/risk/episode-severity.ts'
import { DEFAULT_RISK_RULES, type RiskRule } from '../../../src/risk/risk-rules.ts'
import { SEVERITIES } from '../../../src/domain/risk.ts'
import { createRandom } from '../../random.ts'

describe('the severity of a risk episode', () => {
  it('changes as the state machine that it replaces does, for random rules, states and events', () => {
    const random = createRandom(1)
    const states: readonly EpisodeState[] = ['new', ...SEVERITIES, 'cleared']
    for (let round = 0; round < 2_000; round++) {
      const warningFrom = random.below(2) === 0 ? null : 1 + random.below(5)
      const rule: RiskRule = {
        ...DEFAULT_RISK_RULES.AuthFailure401,
        base: SEVERITIES[random.below(3)]!,
        warningFrom,
        criticalFrom: warningFrom === null ? null : warningFrom + random.below(5),
      }
      let state = states[random.below(states.length)]!
      const changes: EpisodeChange[] = []
      const actor = startEpisode(rule, { value: state }, ({ phase, severity }) => changes.push({ phase, severity }))
      for (let step = 0; step < 6; step++) {
        const window = {
          count: random.below(12),
          grave: random.below(4) === 0 ? 1 : 0,
          heldMs: random.below(4) * 5_000,
        }
        const isQuiet = random.below(6) === 0
        actor.send(isQuiet ? { type: 'quiet' } : { type: 'window.counted', ...window })
        const change = isQuiet ? changeOnQuiet(state) : changeOnWindow(rule, state, window)
        if (change !== null) state = stateAfter(change)
        const expected = changes.splice(0)
        expect([change].filter((each) => each !== null)).toEqual(expected)
        expect(actor.snapshot().value).toBe(state)
      }
    }
  })
})
