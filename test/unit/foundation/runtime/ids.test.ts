import { describe, expect, it } from 'vitest'
import { createIdFactory, isId, timeOfId } from '../../../../src/foundation/runtime/ids.ts'

const START_MS = Date.UTC(2026, 2, 4, 12)

describe('ids', () => {
  it('consist of the prefix and 26 characters', () => {
    const id = createIdFactory(() => START_MS)('sub')
    expect(id).toMatch(/^sub_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    expect(isId('sub', id)).toBe(true)
    expect(timeOfId(id)).toBe(START_MS)
  })

  it('contain a UUID of version 7', () => {
    const text = createIdFactory(() => START_MS)('sub').slice(4)
    const value = [...text].reduce(
      (sum, letter) => sum * 32n + BigInt('0123456789abcdefghjkmnpqrstvwxyz'.indexOf(letter)),
      0n,
    )
    const hex = value.toString(16).padStart(32, '0')
    expect(parseInt(hex.slice(0, 12), 16)).toBe(START_MS)
    expect(hex[12]).toBe('7')
    expect('89ab').toContain(hex[16])
  })

  it('sort in order of creation, within a millisecond and over many', () => {
    let nowMs = START_MS
    const createId = createIdFactory(() => nowMs)
    const ids = Array.from({ length: 50_000 }, (_, index) => {
      if (index % 9_000 === 0) nowMs++
      return createId('evt')
    })
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('increase even if the clock is set back', () => {
    let nowMs = START_MS
    const createId = createIdFactory(() => nowMs)
    const before = createId('evt')
    nowMs -= 3_600_000
    const after = createId('evt')
    expect(after > before).toBe(true)
    expect(timeOfId(after)).toBe(START_MS)
  })

  it('differ between processes in the same millisecond', () => {
    const ids = Array.from({ length: 1_000 }, () => createIdFactory(() => START_MS)('evt'))
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('are distinguished from malformed ids', () => {
    const id = createIdFactory(() => START_MS)('sub')
    for (const other of [
      '',
      'sub_',
      id.slice(0, -1),
      `${id}0`,
      id.toUpperCase(),
      `${id.slice(0, -1)}u`,
      `${id.slice(0, -1)}\n`,
      `sub_8${id.slice(5)}`,
      `prx${id.slice(3)}`,
    ])
      expect(isId('sub', other), JSON.stringify(other)).toBe(false)
    expect(isId('prx', id)).toBe(false)
    expect([timeOfId(''), timeOfId('sub_x')]).toEqual([0, 0])
  })
})
