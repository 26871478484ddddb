import { describe, expect, it } from 'vitest'
import {
  freeSlot,
  giveBackLease,
  overdrawLease,
  hasLease,
  isExhausted,
  LEASE_CELL,
  LEASE_CELL_SIZE,
  remainingOf,
  takeLease,
} from '../../../../src/boundary/leases/lease-cell.ts'

const AT = 3

function createCell(): Float64Array {
  const cell = new Float64Array(AT + LEASE_CELL_SIZE)
  cell[AT + LEASE_CELL.allowed] = 2
  cell[AT + LEASE_CELL.untilMs] = 100
  cell[AT + LEASE_CELL.untilWallMs] = 5_000
  cell[AT + LEASE_CELL.exhaustedUntilMs] = 50
  return cell
}

describe('The lease of a counter', () => {
  it('admits as many calls as it allows', () => {
    const cell = createCell()
    const now = { monotonicMs: 1, wallMs: 1 }
    takeLease(cell, AT)
    expect(hasLease(cell, AT, now)).toBe(true)
    takeLease(cell, AT)
    expect(hasLease(cell, AT, now)).toBe(false)
    freeSlot(cell, AT)
    expect(hasLease(cell, AT, now)).toBe(true)
  })

  it.each([
    ['monotonic', { monotonicMs: 100, wallMs: 1 }],
    ['wall', { monotonicMs: 1, wallMs: 5_000 }],
  ])('ends by the %s clock', (_, now) => {
    expect(hasLease(createCell(), AT, now)).toBe(false)
  })

  it('frees no slot that is not taken', () => {
    const cell = createCell()
    freeSlot(cell, AT)
    expect(cell[AT + LEASE_CELL.used]).toBe(0)
  })

  it('has no calls left while more run than a lowered limit allows', () => {
    const cell = createCell()
    for (let call = 0; call < 5; call++) takeLease(cell, AT)
    expect(remainingOf(cell, AT)).toBe(0)
  })

  it('is exhausted for a time', () => {
    expect(isExhausted(createCell(), AT, { monotonicMs: 49, wallMs: 0 })).toBe(true)
    expect(isExhausted(createCell(), AT, { monotonicMs: 50, wallMs: 0 })).toBe(false)
  })

  it('counts units exactly up to 2^53', () => {
    const cell = createCell()
    const now = { monotonicMs: 1, wallMs: 1 }
    cell[AT + LEASE_CELL.allowed] = Number.MAX_SAFE_INTEGER
    takeLease(cell, AT, Number.MAX_SAFE_INTEGER - 3)
    expect(hasLease(cell, AT, now, 3)).toBe(true)
    expect(hasLease(cell, AT, now, 4)).toBe(false)
    expect(hasLease(cell, AT, now, Number.MAX_SAFE_INTEGER)).toBe(false)
    takeLease(cell, AT, 3)
    expect(hasLease(cell, AT, now, 1)).toBe(false)
    expect(hasLease(cell, AT, now, 0)).toBe(true)
  })

  it('counts what a call has used beyond its cost, in its window only, and raises the lease by what exceeds it', () => {
    const cell = createCell()
    const now = { monotonicMs: 1, wallMs: 1 }
    cell[AT + LEASE_CELL.window] = 7
    cell[AT + LEASE_CELL.allowed] = 10
    takeLease(cell, AT, 2)
    overdrawLease(cell, AT, 5, 6)
    expect([cell[AT + LEASE_CELL.used], cell[AT + LEASE_CELL.allowed]]).toEqual([2, 10])
    overdrawLease(cell, AT, 5, 7)
    expect([cell[AT + LEASE_CELL.used], cell[AT + LEASE_CELL.allowed]]).toEqual([7, 10])
    overdrawLease(cell, AT, 5, 7)
    expect([cell[AT + LEASE_CELL.used], cell[AT + LEASE_CELL.allowed]]).toEqual([12, 12])
    expect(hasLease(cell, AT, now)).toBe(false)
  })

  it('returns what a call was charged, in its window only, and not to the node', () => {
    const cell = createCell()
    const now = { monotonicMs: 1, wallMs: 1 }
    cell[AT + LEASE_CELL.window] = 7
    takeLease(cell, AT, 2)
    giveBackLease(cell, AT, 2, 6)
    expect(cell[AT + LEASE_CELL.used]).toBe(2)
    giveBackLease(cell, AT, 2, 7)
    expect([cell[AT + LEASE_CELL.used], cell[AT + LEASE_CELL.allowed]]).toEqual([0, 0])
    expect(hasLease(cell, AT, now)).toBe(false)
    expect(isExhausted(cell, AT, now)).toBe(false)
  })
})
