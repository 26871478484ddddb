import { expect, it } from 'vitest'
import { createLocalAttempts } from '../../../src/storage/store/attempts.ts'
import { attemptsContract, keyOf } from './attempts.contract.ts'

function open() {
  const clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
  return { attempts: createLocalAttempts(clock), forward: async (ms: number) => void (clock.ms += ms) }
}

attemptsContract('local', open)

it.each([true, false])('Attempts delay none after the clock was set back (sliding: %s)', async (isSliding) => {
  const { attempts, forward } = open()
  const limit = { max: 1, windowMs: 60_000, isSliding }
  expect([await attempts.take(keyOf(0), limit), await attempts.take(keyOf(0), limit)]).toEqual([0, 60_000])
  await forward(-3_600_000)
  expect(await attempts.take(keyOf(0), limit)).toBe(0)
})

it('Attempts on 99,999 other keys evict none', async () => {
  const { attempts } = open()
  const limit = { max: 1, windowMs: 60_000, isSliding: true }
  for (let key = 0; key < 100_000; key++) await attempts.take(keyOf(key), limit)
  expect(await attempts.take(keyOf(0), limit)).toBe(60_000)
})
