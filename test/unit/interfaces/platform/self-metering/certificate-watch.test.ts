import { expect, it } from 'vitest'
import { watchExpiry } from '../../../../../src/interfaces/platform/self-metering/certificate-watch.ts'
import { createFakeClock } from '../../../../fixtures/fake-clock.ts'

const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-11-01T00:00:00Z')

function openWatch(...expireAfterDays: readonly number[]) {
  const clock = createFakeClock(START_MS)
  const all = expireAfterDays.map((days) => {
    return { file: `${days}.crt`, names: [`${days}.example.test`], expiresMs: START_MS + days * DAY_MS }
  })
  const certificates = { all }
  const notes: (readonly unknown[])[] = []
  const stop = watchExpiry({
    certificates,
    tenant: 'operator',
    clock,
    log: { error() {} },
    recorder: { note: async (...note) => void notes.push(note) },
  })
  return { clock, certificates, notes, stop }
}

it('raises nothing for a certificate that is valid for 21 days', async () => {
  const { clock, notes } = openWatch(21)
  expect(notes).toEqual([])
  await clock.advance(60_000)
  expect(notes).toHaveLength(1)
})

it('names the certificate that expires first, in a risk of the operator', () => {
  const { notes } = openWatch(200, 20, 3, 5)
  const which = '3.example.test until 2026-11-04'
  expect(notes).toEqual([['certificate_expiring', 'operator', 'platform-v1', null, which]])
})

it('says once a certificate has expired', async () => {
  const { clock, notes } = openWatch(1)
  await clock.advance(DAY_MS)
  expect(notes.at(-1)?.[0]).toBe('certificate_expired')
  expect(notes.at(-2)?.[0]).toBe('certificate_expiring')
})

it('repeats the risk once a minute until another certificate is presented', async () => {
  const { clock, certificates, notes, stop } = openWatch(3)
  await clock.advance(180_000)
  expect(notes).toHaveLength(4)
  certificates.all = [{ file: 'new.crt', names: [], expiresMs: START_MS + 90 * DAY_MS }]
  await clock.advance(180_000)
  expect(notes).toHaveLength(4)
  stop()
  expect(clock.pending).toBe(0)
})
