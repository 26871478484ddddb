/** Tests that say "with the keyboard alone" use no mouse, and move no focus by script. Each scenario of the console has one. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const JOURNEYS = join(import.meta.dirname, '../../journey')
const PHRASE = /keyboard alone/
const OTHER_MEANS =
  /\.(?:click|dblclick|fill|check|uncheck|setChecked|selectOption|selectText|focus|blur|hover|tap|dragTo|dispatchEvent|setInputFiles|mouse|touchscreen)\b/g
const SCENARIOS = [
  'signs in after a wrong password',
  'goes from the first API to the first call',
  'is approved',
  'are activated under load',
  'is ended by revoking the credential',
  'is reconciled',
  'is explained',
  'sees nothing',
]

interface Journey {
  readonly title: string
  /** The text of the test, and of all functions of its file that it uses. */
  readonly text: string
}

/** Reads files that are formatted: a block ends at the first line that closes it at its own depth. */
function journeysOf(source: string): readonly Journey[] {
  const functions = new Map(
    [
      ...source.matchAll(/^(?:async )?function (\w+)\b[^]*?^\}$/gm),
      ...source.matchAll(/^const (\w+) = [^]*?(?=\n\n)/gm),
    ].map(([text, name = '']) => [name, text]),
  )
  return [...source.matchAll(/^( *)it(?:\.each\([^]*?\))?\(\s*(['"`])([^\n]*?)\2,[^]*?^\1\}?\)$/gm)].map(
    ([text, , , title = '']) => ({ title, text: withUsed(text, functions) }),
  )
}

function withUsed(text: string, functions: ReadonlyMap<string, string>): string {
  const used = new Set([text])
  for (const each of used) {
    for (const [name, body] of functions) if (new RegExp(`(?<!\\.)\\b${name}\\b`).test(each)) used.add(body)
  }
  return [...used].join('\n')
}

const otherMeansOf = ({ text }: Journey): readonly string[] => text.match(OTHER_MEANS) ?? []

const journeys = globSync('console*.test.ts', { cwd: JOURNEYS })
  .flatMap((file) => journeysOf(readFileSync(join(JOURNEYS, file), 'utf8')))
  .filter(({ title }) => PHRASE.test(title))

describe('a journey with the keyboard alone', () => {
  it.each(SCENARIOS)('exists once for the scenario that begins: %s', (scenario) => {
    const titles = journeys.map(({ title }) => title)
    expect(titles.filter((title) => title.startsWith(scenario))).toEqual([
      expect.stringContaining('with the keyboard alone'),
    ])
  })

  it('uses neither the mouse nor a script', () => {
    const found = journeys.map((journey) => [journey.title, otherMeansOf(journey)])
    expect(found.filter(([, means]) => means!.length > 0)).toEqual([])
  })

  it('has helpers that use neither', () => {
    expect(readFileSync(join(JOURNEYS, 'console-keyboard.ts'), 'utf8').match(OTHER_MEANS)).toBeNull()
  })
})

it('finds the mouse in a test, and in the functions that it uses', () => {
  const source = `
const button = (page) => page.getByRole('button')

async function press(page) {
  await button(page).click()
}

function unused(page) {
  page.mouse.move(1, 1)
}

describe('x', () => {
  it('is short with the keyboard alone', async () => {
    await press(page)
    await page.getByLabel('A').fill('b')
  })

  it(
    'is long',
    async () => {
      await page.keyboard.press('Tab')
    },
  )
})
`
  expect(journeysOf(source).map((journey) => [journey.title, otherMeansOf(journey)])).toEqual([
    ['is short with the keyboard alone', ['.fill', '.click']],
    ['is long', []],
  ])
})
