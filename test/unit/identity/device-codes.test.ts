import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createDeviceCodes, type DeviceRequest } from '../../../src/identity/device-codes.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import { NOW_MS } from '../../fixtures/token-endpoints.ts'

const REQUEST: DeviceRequest = { clientId: 'cli_1', api: 'a-v1', scope: null, wantsIdToken: false, wantsProfile: false }

function openCodes() {
  let nowMs = NOW_MS
  const clock = { nowMs: () => nowMs }
  const hashed: string[] = []
  const keyedHash = (text: string): string => `hash ${hashed.push(text) && text}`
  const codes = createDeviceCodes({ clock, randomBytes, keyedHash, createId: createIdFactory(clock.nowMs) })
  return { codes, forward: (ms: number) => void (nowMs += ms) }
}

describe('device codes', () => {
  it.each([
    ['in lower case', (code: string) => code.toLowerCase()],
    ['without the hyphen', (code: string) => code.replace('-', '')],
    ['with spaces', (code: string) => ` ${code.split('').join(' ')} `],
  ])('are entered %s', (_, typed) => {
    const { codes } = openCodes()
    const { userCode } = codes.create(REQUEST, '')
    expect(codes.enter(typed(userCode))).toMatchObject({ userCode, request: REQUEST })
  })

  it.each(['', '-', 'BBBB', 'B'.repeat(9), 'B'.repeat(11), '__proto__', 'constructor', 'x'.repeat(100_000)])(
    'are not found by %.20s',
    (text) => {
      const { codes } = openCodes()
      codes.create(REQUEST, '')
      expect(codes.enter(text)).toBeNull()
    },
  )

  it('are unknown five minutes after they have expired', () => {
    const { codes, forward } = openCodes()
    const { deviceCode } = codes.create(REQUEST, '')
    const poll = () => codes.poll(deviceCode, 'cli_1', 'a-v1').state
    forward(15 * 60_000 - 1)
    codes.create(REQUEST, '')
    expect(poll()).toBe('expired')
    forward(1)
    codes.create(REQUEST, '')
    expect(poll()).toBe('unknown')
  })

  it('have letters of equal frequency', () => {
    const { codes } = openCodes()
    const counts = new Map<string, number>()
    for (let client = 0; client < 5_000; client++) {
      const { userCode } = codes.create(REQUEST, '')
      for (const letter of userCode.replace('-', '')) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    }
    expect(counts.size).toBe(20)
    for (const [letter, count] of counts) expect(Math.abs(count - 2_500), letter).toBeLessThan(300)
  })
})
