import { describe, expect, it } from 'vitest'
import {
  freeSlot,
  hasLease,
  isExhausted,
  LEASE_CELL,
  LEASE_CELL_SIZE,
  remainingOf,
  takeLease,
} from '../../../src/leases/lease-cell.ts'

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
})
