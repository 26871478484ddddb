import { expect, it } from 'vitest'
import { ResponseWindow } from '../../../../src/gateway/backend/response-window.ts'

const NOW_MS = 1_800_000_000_000

it('The responses of the last ten seconds are counted', () => {
  const window = new ResponseWindow()
  window.add({ ok: 1, failed: 2, latencyUs: 30 }, NOW_MS)
  window.add({ ok: 4, failed: 0, latencyUs: 10 }, NOW_MS + 9_000)
  expect(window.sum()).toEqual({ ok: 5, failed: 2, latencyUs: 40 })
  window.add({ ok: 1, failed: 0, latencyUs: 1 }, NOW_MS + 10_000)
  expect(window.sum()).toEqual({ ok: 5, failed: 0, latencyUs: 11 })
})

it('The responses from before the clock was set back are no longer counted', () => {
  const window = new ResponseWindow()
  window.add({ ok: 0, failed: 9, latencyUs: 0 }, NOW_MS)
  window.add({ ok: 1, failed: 0, latencyUs: 5 }, NOW_MS - 3_600_000)
  expect(window.sum()).toEqual({ ok: 1, failed: 0, latencyUs: 5 })
})
