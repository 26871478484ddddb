import { expect, it } from 'vitest'
import { createPace } from '../../../../src/foundation/runtime/pace.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

/** A pace whose slices take the time that the test says. */
function openPace() {
  const clock = createFakeClock(0)
  const times = { elapsedMs: 0 }
  const calls = { inFlight: 0 }
  const pace = createPace({ clock, isBusy: () => calls.inFlight > 0, elapsedMs: () => times.elapsedMs })
  const work = (ms: number): Promise<void> => {
    times.elapsedMs += ms
    return pace()
  }
  return { clock, calls, work }
}

it('continues at once while a slice lasts, and yields one turn after it', async () => {
  const { clock, work } = openPace()
  let turns = 0
  const count = (): void => {
    turns++
    setImmediate(count).unref()
  }
  setImmediate(count).unref()
  await work(1)
  expect(turns).toBe(0)
  await work(1)
  expect(turns).toBeGreaterThan(0)
  expect(clock.pending).toBe(0)
})

it('pauses for three times the slice while calls are in flight', async () => {
  const { clock, calls, work } = openPace()
  calls.inFlight = 1
  let isDone = false
  const working = work(4).then(() => (isDone = true))
  await clock.advance(11)
  expect(isDone).toBe(false)
  await clock.advance(1)
  await working
  expect(isDone).toBe(true)
})

it('ends even if calls are always in flight: a pause is at most 50 ms', async () => {
  const { clock, calls, work } = openPace()
  calls.inFlight = 1
  const working = work(5_000)
  await clock.advance(50)
  await working
  expect(clock.pending).toBe(0)
})
