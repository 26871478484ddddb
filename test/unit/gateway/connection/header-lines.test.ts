import { describe, expect, it } from 'vitest'
import { toHeaderLines } from '../../../../src/gateway/connection/header-lines.ts'

describe('header lines', () => {
  it('have the names and values as they are', () => {
    expect(toHeaderLines(['X-A', 'b', 'x-a', '', 'Cookie', 'ü=é'])).toBe('X-A: b\r\nx-a: \r\nCookie: ü=é\r\n')
    expect(toHeaderLines([])).toBe('')
  })

  it.each([
    ['X-A', 'a\r\nX-B: c'],
    ['X-A', 'a\n'],
    ['X-A', 'a\0'],
    ['X-A', 'a\u010a'],
    ['X A', 'a'],
    ['X-A:', 'a'],
    ['X-A\r\nX-B', 'a'],
    ['', 'a'],
  ])('are refused if they would read differently: %j: %j', (name, value) => {
    expect(() => toHeaderLines(['X-C', 'c', name, value])).toThrow('a header contains an invalid character')
    // Also the second time, although names are remembered.
    expect(() => toHeaderLines([name, value])).toThrow()
  })
})
