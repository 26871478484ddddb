import { describe, expect, it } from 'vitest'
import { flow, widthOf, wrap } from '../../../../../src/interfaces/cli/output/plain-text.ts'

describe('wrap', () => {
  it('breaks at blanks, and adds no blank to a word that is wider than the line', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrap('a con_01m83e2py3e0esvgwc1bszk2x4 b', 12)).toEqual(['a', 'con_01m83e2p', 'y3e0esvgwc1b', 'szk2x4 b'])
  })

  it.each(['漢字'.repeat(9), `${'漢字 '.repeat(9)}x`, '👩‍👩‍👧'.repeat(5), ''])(
    'keeps %j, in lines of at most 7 columns',
    (text) => {
      const lines = wrap(text, 7)
      expect(lines.filter((line) => widthOf(line) > 7)).toEqual([])
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
    },
  )
})

describe('flow', () => {
  it('joins parts with two blanks, and continues on an indented line', () => {
    expect(flow(['14:02:11', '200  ', 'shop'], 40)).toBe('14:02:11  200    shop')
    expect(flow(['14:02:11', '200  ', 'shop and more'], 20)).toBe('14:02:11  200\n          shop and\n          more')
  })
})
