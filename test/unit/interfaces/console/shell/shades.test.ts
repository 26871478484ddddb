import { expect, it } from 'vitest'
import { contrastOf, toShades } from '../../../../../src/interfaces/console/shell/shades.ts'

/** The surfaces of `style.css`. */
const LIGHT = ['#f4f5f7', '#ffffff', '#eceef2']
const DARK = ['#101216', '#191c21', '#23272e']

const everyColour = ['00', '33', '66', '99', 'cc', 'ff'].flatMap((red, _, all) =>
  all.flatMap((green) => all.map((blue) => `#${red}${green}${blue}`)),
)

it('have a contrast of at least 4.5:1 to every surface of their theme, from any colour', () => {
  for (const colour of everyColour) {
    const { light, dark } = toShades(colour)!
    for (const surface of LIGHT) expect([colour, contrastOf(light, surface) >= 4.5]).toEqual([colour, true])
    for (const surface of DARK) expect([colour, contrastOf(dark, surface) >= 4.5]).toEqual([colour, true])
  }
})

it('are the colour itself if its contrast is enough', () => {
  expect(toShades('#1f4fd8')?.light).toBe('#1f4fd8')
  expect(toShades('#8fb0ff')?.dark).toBe('#8fb0ff')
})

it.each(['', 'red', '#12345', '#1234567', '#12345g', '#123456;', 'url(x)'])('are none of %j', (text) => {
  expect(toShades(text)).toBeNull()
})
