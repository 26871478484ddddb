import { describe, expect, it } from 'vitest'
import {
  changeOnQuiet,
  changeOnWindow,
  stateAfter,
  type EpisodeState,
} from '../../../../src/pipeline/risk/episode-severity.ts'
import { DEFAULT_RISK_RULES } from '../../../../src/pipeline/risk/risk-rules.ts'
import { SEVERITIES, type RiskType } from '../../../../src/foundation/domain/risk.ts'

const LONG_HELD_MS = 60_000

/** Returns the changes that the given counts cause in sequence; `null` means silence. */
function changesOf(
  type: RiskType,
  counts: readonly (number | null)[],
  { state = 'new' as EpisodeState, heldMs = LONG_HELD_MS } = {},
): readonly string[] {
  let current = state
  return counts.flatMap((count) => {
    const change =
      count === null
        ? changeOnQuiet(current)
        : changeOnWindow(DEFAULT_RISK_RULES[type], current, { count, grave: 0, heldMs })
    if (change === null) return []
    current = stateAfter(change)
    return [`${change.phase} ${change.severity}`]
  })
}

describe('The severity of a risk episode', () => {
  it.each([
    ['AuthFailure401', 3, 10],
    ['AuthFailure403', 3, 10],
    ['RateLimitBreach', 10, 50],
  ] as const)(
    'of type %s is Info, Warning from %i events in the window, and Critical from %i',
    (type, warning, critical) => {
      const counts = [1, warning - 1, warning, critical - 1, critical, critical * 2]
      expect(changesOf(type, counts)).toEqual(['opened Info', 'escalated Warning', 'escalated Critical'])
    },
  )

  it('starts at the severity of the first window', () => {
    expect(changesOf('AuthFailure401', [10])).toEqual(['opened Critical'])
  })

  it('falls one step at a time, and clears after silence', () => {
    expect(changesOf('AuthFailure401', [12, 0, 0, 0, null])).toEqual([
      'opened Critical',
      'deescalated Warning',
      'deescalated Info',
      'cleared Info',
    ])
  })

  it('falls only after ten seconds, and rises immediately', () => {
    const from = (state: EpisodeState, heldMs: number) => ({ state, heldMs })
    expect(changesOf('AuthFailure401', [9], from('Critical', 9_999))).toEqual([])
    expect(changesOf('AuthFailure401', [9], from('Critical', 10_000))).toEqual(['deescalated Warning'])
    expect(changesOf('AuthFailure401', [1], from('Warning', 9_999))).toEqual([])
    expect(changesOf('AuthFailure401', [10], from('Warning', 0))).toEqual(['escalated Critical'])
  })

  it.each(['ProtectionViolation', 'ApproachingLimit'] as const)(
    'of type %s stays the same until the episode clears',
    (type) => {
      const { base } = DEFAULT_RISK_RULES[type]
      expect(changesOf(type, [1, 100, 0, null])).toEqual([`opened ${base}`, `cleared ${base}`])
    },
  )

  it.each(SEVERITIES)('is Critical while a grave event is in the window, from %s', (state) => {
    const change = changeOnWindow(DEFAULT_RISK_RULES.DesignDrift, state, { count: 1, grave: 1, heldMs: 0 })
    expect(change).toEqual(state === 'Critical' ? null : { phase: 'escalated', severity: 'Critical' })
  })

  it('does not change after the episode is cleared, or by silence before the first window', () => {
    expect(changesOf('AuthFailure401', [1, null, 50, null])).toEqual(['opened Info', 'cleared Info'])
    expect(changesOf('AuthFailure401', [null])).toEqual([])
  })
})
