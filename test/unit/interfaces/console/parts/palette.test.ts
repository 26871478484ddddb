import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { looksOf } from '../../../../../src/interfaces/console/parts/palette.ts'

const STYLE = readFileSync(join(import.meta.dirname, '../../../../../src/interfaces/console/style.css'), 'utf8')
const APIS = Array.from({ length: 200 }, (_, index) => `api-${index}-v1`)

/** The colours of a token in the light and the dark theme. */
function coloursOf(token: string): readonly string[] {
  const [, light = '', dark = ''] = new RegExp(`${token}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(STYLE) ?? []
  expect([token, light, dark]).not.toContain('')
  return [light, dark]
}

function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrastOf(one: string, other: string): number {
  const [low = 0, high = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

describe('the colours of series', () => {
  it('are the same for a name whatever else a chart shows, and use the whole palette', () => {
    for (const name of APIS) expect(looksOf(['first', name, 'last'])[1]?.colour).toBe(looksOf([name])[0]?.colour)
    const used = new Set(looksOf(APIS).map(({ colour }) => colour))
    expect(used.size).toBe(10)
  })

  it('differ by their line if two names share one in a chart', () => {
    const looks = looksOf(APIS.slice(0, 40))
    const first = looks[0]!
    const same = looks.filter(({ colour }) => colour === first.colour)
    expect(same.length).toBeGreaterThan(1)
    expect(same[1]?.dash).not.toEqual(same[0]?.dash)
  })

  it('have a contrast of 3:1 at least on each surface, in both themes', () => {
    const surfaces = ['--surface-0', '--surface-1'].map(coloursOf)
    for (let index = 0; index < 10; index++) {
      coloursOf(`--series-${index}`).forEach((colour, theme) => {
        for (const surface of surfaces) expect(contrastOf(colour, surface[theme]!)).toBeGreaterThanOrEqual(3)
      })
    }
  })
})
