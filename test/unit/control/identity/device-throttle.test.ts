import { expect, it } from 'vitest'
import { createDeviceThrottle } from '../../../../src/control/identity/device-throttle.ts'
import { createLocalAttempts } from '../../../../src/storage/store/attempts.ts'

const WINDOW_MS = 10 * 60_000

function open() {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms }
  const throttle = createDeviceThrottle({ attempts: createLocalAttempts(clock), keyedHash: (text) => text })
  return { clock, throttle }
}

it('All browsers together may enter 100,000 wrong codes in ten minutes', async () => {
  const { clock, throttle } = open()
  for (let browser = 1; browser <= 100_000; browser++) await throttle.begin(`browser ${browser}`)
  expect(await throttle.begin('another')).toBe(WINDOW_MS / 1_000)
  await throttle.succeed('browser 7')
  expect(await throttle.begin('another')).toBe(0)
  expect(await throttle.begin('another')).toBe(WINDOW_MS / 1_000)
  clock.ms += WINDOW_MS
  expect(await throttle.begin('another')).toBe(0)
})

it('A browser may enter any number of right codes', async () => {
  const { throttle } = open()
  for (let count = 1; count <= 50; count++) {
    expect(await throttle.begin('browser')).toBe(0)
    await throttle.succeed('browser')
  }
})
