import { describe, expect, it } from 'vitest'
import { createStopDelay } from '../../../src/app/stop-delay.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'

function setUp(stopDelaySeconds: number) {
  const clock = createFakeClock(0)
  const steps: string[] = []
  const stop = createStopDelay({
    config: { stopDelaySeconds },
    clock,
    platform: { leave: () => void steps.push('platform leaves') },
    shared: { beginStop: () => void steps.push('PostgreSQL must answer') },
    stream: { beginStop: () => void steps.push('ClickHouse must answer') },
    pool: { leave: async () => void steps.push('gateway leaves') },
    onStopping: () => void steps.push('not ready'),
  })
  return { clock, steps, stop: () => stop().then(() => void steps.push('over')) }
}

describe('The delay of a stop', () => {
  it('makes the service not ready, ends its connections, and lasts as long as the setting says', async () => {
    const { clock, steps, stop } = setUp(3)
    const done = stop()
    await clock.advance(0)
    expect(steps).toEqual(['not ready', 'platform leaves', 'gateway leaves'])
    await clock.advance(2_999)
    expect(steps).not.toContain('over')
    await clock.advance(1)
    await done
    expect(steps.slice(3)).toEqual(['PostgreSQL must answer', 'ClickHouse must answer', 'over'])
  })

  it('is over at once, with the connections as they are, if the setting is 0', async () => {
    const { steps, stop } = setUp(0)
    await stop()
    expect(steps).toEqual(['not ready', 'PostgreSQL must answer', 'ClickHouse must answer', 'over'])
  })
})
