import { describe, expect, it } from 'vitest'
import { LastHeaders } from '../../../../src/gateway/connection/header-memo.ts'

const HEADERS = ['Host', 'a', 'X-A', 'b', 'X-C', 'd']

describe('the memo of the headers of a connection', () => {
  it('is that of the message before if its headers and its key are equal', () => {
    const last = new LastHeaders()
    const memo = last.find(HEADERS, 11)
    expect(last.find([...HEADERS], 11)).toBe(memo)
    expect(last.find([...HEADERS], 10)).not.toBe(memo)
  })

  it.each([
    ['another value', HEADERS.with(3, 'c')],
    ['a name in other case', HEADERS.with(2, 'x-a')],
    ['one header less', HEADERS.slice(0, 4)],
    ['one header more', [...HEADERS, 'X-E', 'f']],
    ['another order', ['X-A', 'b', 'Host', 'a', 'X-C', 'd']],
    ['no header', []],
  ])('is a new one with %s, also the second time', (_, other) => {
    const last = new LastHeaders()
    const memo = last.find(HEADERS, 11)
    const next = last.find(other, 11)
    expect(next).not.toBe(memo)
    expect(next.raw).toEqual(other)
    expect(last.find([...other], 11)).toBe(next)
    expect(last.find([...HEADERS], 11)).not.toBe(memo)
  })

  it('is not kept for headers that are long, or once it is forgotten', () => {
    const last = new LastHeaders()
    const long = ['X-A', 'a'.repeat(5_000)]
    expect(last.find([...long], 11)).not.toBe(last.find([...long], 11))
    const memo = last.find(HEADERS, 11)
    last.evict()
    expect(last.find(HEADERS, 11)).not.toBe(memo)
  })
})
