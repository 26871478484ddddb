import { expect, it } from 'vitest'
import { watchSpool } from '../../../../../src/interfaces/platform/self-metering/spool-pressure.ts'
import { createFakeClock } from '../../../../fixtures/fake-clock.ts'

function openWatch() {
  const clock = createFakeClock(1_000_000)
  const gauge = { share: 0 }
  const notes: string[] = []
  const log = { warn: () => {}, error: () => {} }
  const recorder = { note: async (outcome: string) => void notes.push(outcome) }
  watchSpool({ gauge, recorder, tenant: 'operator', clock, log })
  return { clock, gauge, notes }
}

it('raises a risk again every 10 s while the spool is full, and at once when it gets worse', async () => {
  const { clock, gauge, notes } = openWatch()
  await clock.advance(5_000)
  gauge.share = 0.8
  await clock.advance(15_000)
  gauge.share = 0.95
  await clock.advance(1_000)
  expect(notes).toEqual(['spool_high', 'spool_high', 'spool_critical'])
})

it('raises a risk again after the clock was set back', async () => {
  const { clock, gauge, notes } = openWatch()
  gauge.share = 0.9
  await clock.advance(1_000)
  clock.setBack(3_600_000)
  await clock.advance(1_000)
  expect(notes).toHaveLength(2)
})
