import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createDeviceCodes, type DeviceRequest } from '../../../../src/control/identity/device-codes.ts'
import { createIdFactory } from '../../../../src/foundation/runtime/ids.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'
import { createLocalDeviceCodes } from '../../../../src/storage/store/local-device-codes.ts'
import { NOW_MS } from '../../../fixtures/token-endpoints.ts'

const REQUEST: DeviceRequest = { clientId: 'cli_1', api: 'a-v1', scope: null, wantsIdToken: false, wantsProfile: false }

function openCodes() {
  let nowMs = NOW_MS
  const clock = { nowMs: () => nowMs }
  const vault = createVault(Buffer.alloc(32, 1))
  const store = createLocalDeviceCodes(clock)
  const codes = createDeviceCodes({ store, vault, randomBytes, createId: createIdFactory(clock.nowMs) })
  return { codes, store, forward: (ms: number) => void (nowMs += ms) }
}

describe('device codes', () => {
  it.each([
    ['in lower case', (code: string) => code.toLowerCase()],
    ['without the hyphen', (code: string) => code.replace('-', '')],
    ['with spaces', (code: string) => ` ${code.split('').join(' ')} `],
  ])('are entered %s', async (_, typed) => {
    const { codes } = openCodes()
    const { userCode } = await codes.create(REQUEST, '')
    expect(await codes.enter(typed(userCode))).toMatchObject({ userCode, request: REQUEST })
  })

  it.each(['', '-', 'BBBB', 'B'.repeat(9), 'B'.repeat(11), '__proto__', 'constructor', 'x'.repeat(100_000)])(
    'are not found by %.20s',
    async (text) => {
      const { codes } = openCodes()
      await codes.create(REQUEST, '')
      expect(await codes.enter(text)).toBeNull()
    },
  )

  it('are unknown five minutes after they have expired', async () => {
    const { codes, forward } = openCodes()
    const { deviceCode } = await codes.create(REQUEST, '')
    const poll = async () => (await codes.poll(deviceCode, 'cli_1', 'a-v1')).state
    forward(15 * 60_000 - 1)
    await codes.create(REQUEST, '')
    expect(await poll()).toBe('expired')
    forward(1)
    await codes.create(REQUEST, '')
    expect(await poll()).toBe('unknown')
  })

  it('have letters of equal frequency', async () => {
    const { codes } = openCodes()
    const counts = new Map<string, number>()
    for (let client = 0; client < 5_000; client++) {
      const { userCode } = await codes.create(REQUEST, '')
      for (const letter of userCode.replace('-', '')) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    }
    expect(counts.size).toBe(20)
    for (const [letter, count] of counts) expect(Math.abs(count - 2_500), letter).toBeLessThan(300)
  })
})
