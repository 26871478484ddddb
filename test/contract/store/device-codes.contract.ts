import { describe, expect, it } from 'vitest'
import type { DeviceCodeStore, NewDeviceCode } from '../../../src/storage/store/device-codes.ts'

export interface OpenedDeviceCodes {
  readonly codes: DeviceCodeStore
  /** Lets the clock of the store go on. */
  readonly forward: (ms: number) => Promise<void>
}

const MINUTE_MS = 60_000
const CODES_MAX = 20

export function deviceCode(id: string, networkHash = 'n1'): NewDeviceCode {
  return { id, networkHash, userCodeHash: `user of ${id}`, secretHash: `secret of ${id}`, request: `request of ${id}` }
}

/** The contract of all stores of device codes. `open` gets the maximum number of codes. */
export function deviceCodesContract(
  name: string,
  open: (codesMax: number) => OpenedDeviceCodes | Promise<OpenedDeviceCodes>,
): void {
  describe(`device codes: ${name}`, () => {
    it('are found by their id, and entered by their user code, until a person decides', async () => {
      const { codes } = await open(CODES_MAX)
      expect(await codes.add(deviceCode('a'))).toBe(true)
      const stored = { id: 'a', secretHash: 'secret of a', request: 'request of a' }
      expect(await codes.find('a')).toEqual({ ...stored, decision: null, isExpired: false })
      expect(await codes.enter('user of a')).toEqual({ id: 'a', request: 'request of a' })
      expect(await codes.decide('a', 'yes')).toBe(true)
      expect(await codes.decide('a', 'no')).toBe(false)
      expect(await codes.enter('user of a')).toBeNull()
      expect(await codes.find('a')).toMatchObject({ decision: 'yes' })
    })

    it('are taken once', async () => {
      const { codes } = await open(CODES_MAX)
      await codes.add(deviceCode('a'))
      const taken = await Promise.all(Array.from({ length: 8 }, () => codes.take('a')))
      expect(taken.filter(Boolean)).toHaveLength(1)
      expect(await codes.find('a')).toBeNull()
      expect(await codes.enter('user of a')).toBeNull()
    })

    it('are decided once, of concurrent decisions', async () => {
      const { codes } = await open(CODES_MAX)
      await codes.add(deviceCode('a'))
      const decided = await Promise.all(['yes', 'no', 'yes', 'no'].map((decision) => codes.decide('a', decision)))
      expect(decided.filter(Boolean)).toHaveLength(1)
    })

    it('refuse a user code that is in use', async () => {
      const { codes } = await open(CODES_MAX)
      await codes.add(deviceCode('a'))
      expect(await codes.add({ ...deviceCode('b'), userCodeHash: 'user of a' })).toBe(false)
      expect(await codes.find('b')).toBeNull()
      expect(await codes.find('a')).not.toBeNull()
    })

    it.each(['', '__proto__', 'a b', 'é', '\u0001'])('know nothing of %j', async (text) => {
      const { codes } = await open(CODES_MAX)
      await codes.add(deviceCode('a'))
      expect(await codes.find(text)).toBeNull()
      expect(await codes.enter(text)).toBeNull()
      expect([await codes.decide(text, 'yes'), await codes.poll(text), await codes.take(text)]).toEqual([
        false,
        false,
        false,
      ])
    })

    it('expire after ten minutes, also if they are decided, and are unknown five minutes later', async () => {
      const { codes, forward } = await open(CODES_MAX)
      for (const id of ['a', 'b']) await codes.add(deviceCode(id))
      await codes.decide('b', 'yes')
      await forward(10 * MINUTE_MS)
      expect(await codes.find('a')).toMatchObject({ isExpired: true })
      expect(await codes.find('b')).toMatchObject({ isExpired: true, decision: 'yes' })
      expect(await codes.enter('user of a')).toBeNull()
      expect(await codes.decide('a', 'yes')).toBe(false)
      await forward(5 * MINUTE_MS)
      expect(await codes.find('a')).toBeNull()
      expect(await codes.add({ ...deviceCode('c'), userCodeHash: 'user of a' })).toBe(true)
    })

    it('slow a device down by five seconds for each early request, and note no more than one a second', async () => {
      const { codes, forward } = await open(CODES_MAX)
      await codes.add(deviceCode('a'))
      const after = async (seconds: number): Promise<boolean> => {
        await forward(seconds * 1_000)
        return codes.poll('a')
      }
      expect(await codes.poll('a')).toBe(true)
      expect(await codes.poll('a')).toBe(false)
      expect(await after(6)).toBe(true)
      expect(await after(3)).toBe(false)
      expect(await after(8)).toBe(false)
      expect(await after(16)).toBe(true)
    })

    it('replace, when there are too many, those of the network that has most of them', async () => {
      const { codes } = await open(CODES_MAX)
      for (const id of ['a', 'b', 'c']) await codes.add(deviceCode(id, `own of ${id}`))
      for (let count = 0; count < 3 * CODES_MAX; count++) await codes.add(deviceCode(`x${count}`, 'flood'))
      for (const id of ['a', 'b', 'c']) expect(await codes.find(id)).not.toBeNull()
      expect(await codes.find(`x${3 * CODES_MAX - 1}`)).not.toBeNull()
      expect(await codes.find(`x${3 * CODES_MAX - CODES_MAX + 2}`)).toBeNull()
      expect(await codes.find(`x${3 * CODES_MAX - CODES_MAX + 3}`)).not.toBeNull()
    })

    it('replace, within a network, the one whose last request is oldest', async () => {
      const { codes } = await open(CODES_MAX)
      for (let count = 0; count < CODES_MAX; count++) await codes.add(deviceCode(`x${count}`))
      await codes.enter('user of x0')
      await codes.poll('x2')
      for (let count = 0; count < 3; count++) await codes.add(deviceCode(`y${count}`))
      const found = await Promise.all(['x0', 'x1', 'x2', 'x3', 'x4', 'x5'].map((id) => codes.find(id)))
      expect(found.map((code) => code !== null)).toEqual([true, false, true, false, false, true])
    })
  })
}
