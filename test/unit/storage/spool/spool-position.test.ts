import { describe, expect, it } from 'vitest'
import { earlierOf, isSame, isWithin } from '../../../../src/storage/spool/spool-position.ts'
import type { SpoolPosition } from '../../../../src/storage/store/checkpoint.ts'
import { createRandom } from '../../../random.ts'
import { readSeed } from '../../../random-seed.ts'

const SEED = readSeed(1)
const SOURCES = ['a', 'b', 'c']

/** Returns a random position of few places, so that many pairs agree in part. */
function anyPosition(below: (limit: number) => number): SpoolPosition {
  return Object.fromEntries(
    SOURCES.filter(() => below(4) > 0).map((source) => [source, { segment: below(3), offset: below(3) }]),
  )
}

/** Returns the places before a position as a set. */
function readUpTo(position: SpoolPosition): Set<string> {
  const places = new Set<string>()
  for (const [source, { segment, offset }] of Object.entries(position)) {
    for (let each = 0; each <= segment; each++)
      for (let at = 0; at < (each < segment ? 3 : offset); at++) places.add(`${source} ${each} ${at}`)
  }
  return places
}

describe(`positions in the spool (seed ${SEED})`, () => {
  it('have an earlier one that covers exactly what both cover', () => {
    const { below } = createRandom(SEED)
    for (let round = 0; round < 2_000; round++) {
      const [a, b] = [anyPosition(below), anyPosition(below)]
      expect(readUpTo(earlierOf(a, b))).toEqual(readUpTo(a).intersection(readUpTo(b)))
      expect(earlierOf(a, b)).toEqual(earlierOf(b, a))
      expect(isWithin(earlierOf(a, b), a)).toBe(true)
    }
  })

  it('are within another only if the other covers all that they cover', () => {
    const { below } = createRandom(SEED)
    for (let round = 0; round < 2_000; round++) {
      const [a, b] = [anyPosition(below), anyPosition(below)]
      if (isWithin(a, b)) expect(readUpTo(a).isSubsetOf(readUpTo(b))).toBe(true)
      if (isWithin(a, b) && isWithin(b, a)) expect(isSame(a, b)).toBe(true)
    }
  })

  it('are equal in any order of their sources, and differ by any source', () => {
    const [one, two] = [
      { segment: 1, offset: 8 },
      { segment: 2, offset: 64 },
    ]
    expect(isSame({ a: one, b: two }, { b: two, a: one })).toBe(true)
    expect(isSame({}, {})).toBe(true)
    expect(isSame({ a: one }, { a: one, b: two })).toBe(false)
    expect(isSame({ a: one }, { b: one })).toBe(false)
    expect(isSame({ a: one }, { a: { ...one, offset: 16 } })).toBe(false)
    expect(isSame({ a: one }, { a: { ...one, segment: 2 } })).toBe(false)
  })
})
