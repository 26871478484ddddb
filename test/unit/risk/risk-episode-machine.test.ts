import { describe, expect, it } from 'vitest'
import { startEpisode, type EpisodeSnapshot } from '../../../src/risk/risk-episode-machine.ts'
import { DEFAULT_RISK_RULES } from '../../../src/risk/risk-rules.ts'
import type { RiskType } from '../../../src/domain/risk.ts'

function start(type: RiskType, snapshot: EpisodeSnapshot | null = null) {
  const changes: string[] = []
  const actor = startEpisode(DEFAULT_RISK_RULES[type], snapshot, ({ phase, severity }) =>
    changes.push(`${phase} ${severity}`),
  )
  const count = (value: number, heldMs = 60_000, grave = 0) =>
    actor.send({ type: 'window.counted', count: value, grave, heldMs })
  return { actor, changes, count }
}

describe('episode of risk', () => {
  it.each([
    ['AuthFailure401', 3, 10],
    ['AuthFailure403', 3, 10],
    ['RateLimitBreach', 10, 50],
  ] as const)(
    'takes %s for Info, for Warning from %i in a minute and for Critical from %i',
    (type, warning, critical) => {
      const { changes, count } = start(type)
      for (const value of [1, warning - 1, warning, critical - 1, critical, critical * 2]) count(value)

      expect(changes).toEqual(['opened Info', 'escalated Warning', 'escalated Critical'])
    },
  )

  it('opens at the severity that its first window calls for', () => {
    const { changes, count } = start('AuthFailure401')
    count(10)

    expect(changes).toEqual(['opened Critical'])
  })

  it('calms down one step at a time, and clears when it is quiet', () => {
    const { actor, changes, count } = start('AuthFailure401')
    for (const value of [12, 0, 0, 0]) count(value)
    actor.send({ type: 'quiet' })

    expect(changes).toEqual(['opened Critical', 'deescalated Warning', 'deescalated Info', 'cleared Info'])
  })

  it('keeps a severity for ten seconds before it calms down, and rises at once', () => {
    const { changes, count } = start('AuthFailure401')
    count(10)
    for (let second = 0; second < 10; second++) count(9, second * 1_000)
    expect(changes).toEqual(['opened Critical'])
    count(9, 10_000)
    count(10, 0)

    expect(changes).toEqual(['opened Critical', 'deescalated Warning', 'escalated Critical'])
  })

  it.each(['ProtectionViolation', 'ApproachingLimit'] as const)(
    'keeps the one severity of %s until it clears',
    (type) => {
      const { actor, changes, count } = start(type)
      for (const value of [1, 100, 0]) count(value)
      actor.send({ type: 'quiet' })

      const { base } = DEFAULT_RISK_RULES[type]
      expect(changes).toEqual([`opened ${base}`, `cleared ${base}`])
    },
  )

  it('goes on from a snapshot, under the rule of the day', () => {
    const first = start('AuthFailure401')
    first.count(5)
    const revived = start('RateLimitBreach', JSON.parse(JSON.stringify(first.actor.snapshot())) as EpisodeSnapshot)
    revived.count(49)
    revived.count(50)

    expect(revived.changes).toEqual(['escalated Critical'])
  })

  it('says nothing more once it is cleared', () => {
    const { actor, changes, count } = start('AuthFailure401')
    count(1)
    actor.send({ type: 'quiet' })
    count(50)

    expect(changes).toEqual(['opened Info', 'cleared Info'])
  })
})
