import { describe, expect, it } from 'vitest'
import { levelsFrom, rowsOf } from '../../../../../../src/interfaces/console/views/apis/level-rows.ts'

const NOW = Date.parse('2026-03-31T12:00:00Z')

describe('The levels of a canary', () => {
  it('begin with the minute in which it began', () => {
    expect(levelsFrom('2026-03-31T11:58:59.999Z', NOW)).toBe('2026-03-31T11:58:00.000Z')
  })

  it('are those of the last 30 days, if it began earlier', () => {
    expect(levelsFrom('2025-01-01T00:00:00Z', NOW)).toBe('2026-03-01T12:00:00.000Z')
  })

  it('have a row for a revision that was not called, and none for others', () => {
    const latency = { meanMs: 1, p50Ms: 1, p95Ms: 1, p99Ms: 1 }
    const level = {
      fate: 'active',
      calls: 9,
      unanswered: 0,
      errors: 1,
      availabilityPercent: 100,
      errorPercent: 11,
      latency,
    }
    const rows = rowsOf(
      [
        { ...level, revision: 2 },
        { ...level, revision: 1 },
      ],
      [3, 2],
    )
    expect(rows.map(({ revision, calls }) => [revision, calls])).toEqual([
      [3, 0],
      [2, 9],
    ])
    expect(rows[0]).toMatchObject({ errorPercent: null, latency: { p95Ms: null } })
  })
})
