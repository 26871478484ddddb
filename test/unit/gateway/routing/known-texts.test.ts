import { expect, it } from 'vitest'
import { KnownTexts } from '../../../../src/gateway/routing/known-texts.ts'
import { createRandom } from '../../../random.ts'

it('returns every part of every text, whatever it has returned before', () => {
  const random = createRandom(7)
  const texts = new KnownTexts()
  const alphabet = ['a', 'b', '/', '%', 'é', '']
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: random.below(90) }, () => alphabet[random.below(alphabet.length)]).join('')
    const from = random.below(text.length + 1)
    const to = from + random.below(text.length + 1 - from)
    expect(texts.slice(text, from, to)).toBe(text.slice(from, to))
  }
})

it('returns an empty text for an empty part', () => {
  const texts = new KnownTexts()
  expect([texts.slice('/a', 1, 1), texts.slice('/a', 2, 1), texts.slice('', 0, 0)]).toEqual(['', '', ''])
})
