import { expect, it } from 'vitest'
import { drawScreen } from '../../screenshots/screen-svg.ts'

const cellsOf = (text: string, colour: number | null = null, isBold = false) =>
  [...text].map((each) => ({ text: each, colour, isBold }))

it('drawScreen draws each run of a style at its column, and escapes texts', () => {
  const svg = drawScreen(
    [[...cellsOf('a <b>  '), ...cellsOf('200', 2), ...cellsOf('  '), ...cellsOf('██', 6)]],
    'x & y',
  )
  expect(svg).toContain('<title>x &#38; y</title>')
  expect(svg).toMatch(/<text x="16\.0" [^>]*>a &#60;b&#62;<\/text>/)
  expect(svg).toMatch(/<text x="74\.8" [^>]*fill="#8cc265">200<\/text>/)
  expect(svg).toMatch(/<rect x="116\.8" [^>]*width="16\.8" [^>]*fill="#42b3c2"\/>/)
})

it('drawScreen leaves no room for blanks at the ends of rows', () => {
  expect(drawScreen([cellsOf('abc     '), cellsOf('a')], '')).toContain('width="58" height="70"')
})
