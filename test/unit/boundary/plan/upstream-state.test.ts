import { describe, expect, it } from 'vitest'
import { isWorse, type UpstreamState } from '../../../../src/boundary/plan/upstream-state.ts'

const STATES: readonly UpstreamState[] = ['healthy', 'degraded', 'unhealthy', 'recovering']

describe('a target that changes its state', () => {
  it('fails worse if it degrades or is down, also again', () => {
    const worse = STATES.flatMap((from) => STATES.filter((to) => isWorse(from, to)).map((to) => `${from} ${to}`))
    expect(worse).toEqual(['healthy degraded', 'healthy unhealthy', 'degraded unhealthy', 'recovering unhealthy'])
  })
})
