import { expect, it } from 'vitest'
import { fromBase64, toBase64 } from '../../../../../src/interfaces/console/api/base64.ts'

it('Documents of any length and script survive the way in base64', () => {
  const text = `Grüße ${'\u{1f980}'.repeat(40_000)}`
  expect(toBase64(text)).toBe(Buffer.from(text).toString('base64'))
  expect(fromBase64(toBase64(text))).toBe(text)
})
