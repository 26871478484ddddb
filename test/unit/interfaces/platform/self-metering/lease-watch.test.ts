import { expect, it } from 'vitest'
import { watchLeases } from '../../../../../src/interfaces/platform/self-metering/lease-watch.ts'
import { createFakeClock } from '../../../../fixtures/fake-clock.ts'

function openWatch(isFailing = false) {
  const clock = createFakeClock(1_000_000)
  const leases = { isUnavailable: false }
  const notes: (readonly unknown[])[] = []
  const errors: unknown[] = []
  const stop = watchLeases({
    leases,
    tenant: 'operator',
    clock,
    log: { error: (...entry: unknown[]) => void errors.push(entry) },
    recorder: {
      note: (...note) => {
        notes.push([clock.nowMs() - 1_000_000, ...note])
        return isFailing ? Promise.reject(new Error('spool')) : Promise.resolve()
      },
    },
  })
  return { clock, leases, notes, errors, stop }
}

it('raises nothing while leases can be had', async () => {
  const { clock, notes } = openWatch()
  await clock.advance(60_000)
  expect(notes).toEqual([])
})

it('raises a risk of the operator within a second, and again every 10 s while leases cannot be had', async () => {
  const { clock, leases, notes } = openWatch()
  await clock.advance(500)
  leases.isUnavailable = true
  await clock.advance(21_000)
  expect(notes.map(([atMs]) => atMs)).toEqual([1_000, 11_000, 21_000])
  expect(notes[0]!.slice(1)).toEqual(['limits_not_shared', 'operator', 'platform-v1', null])
})

it('raises the risk again after the clock was set back', async () => {
  const { clock, leases, notes } = openWatch()
  leases.isUnavailable = true
  await clock.advance(1_000)
  clock.setBack(3_600_000)
  await clock.advance(1_000)
  expect(notes).toHaveLength(2)
})

it('raises the next outage at once, and nothing between the two', async () => {
  const { clock, leases, notes } = openWatch()
  leases.isUnavailable = true
  await clock.advance(1_000)
  leases.isUnavailable = false
  await clock.advance(3_000)
  expect(notes).toHaveLength(1)
  leases.isUnavailable = true
  await clock.advance(1_000)
  expect(notes.map(([atMs]) => atMs)).toEqual([1_000, 5_000])
})

it('goes on after a risk that could not be recorded, and raises nothing after its end', async () => {
  const { clock, leases, notes, errors, stop } = openWatch(true)
  leases.isUnavailable = true
  await clock.advance(11_000)
  expect(notes).toHaveLength(2)
  expect(errors).toHaveLength(2)
  stop()
  await clock.advance(60_000)
  expect(notes).toHaveLength(2)
})
