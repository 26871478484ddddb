import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { fromBase64 } from '../../../../src/control/command/commands.ts'
import { Base64Decoder } from '../../../../src/interfaces/platform/base64-decoder.ts'
import { createRandom } from '../../../random.ts'

function decode(pieces: readonly string[], charactersMax = 1_000_000, bytesExpected = 4) {
  const decoder = new Base64Decoder({ charactersMax, bytesExpected })
  for (const piece of pieces) decoder.write(piece)
  return decoder.isTooLong ? 'too long' : decoder.end()
}

function decodeAtOnce(text: string): Buffer | null {
  try {
    return fromBase64(text, '')
  } catch {
    return null
  }
}

it('decodes any pieces as it decodes the whole text', () => {
  const random = createRandom(7)
  const signs = ['A', 'b', '9', '+', '/', '=', ' ', '\n', '-', '_', '*', 'é']
  for (let round = 0; round < 3_000; round++) {
    const few = random.below(3) === 0 ? signs.length : 5
    const pieces = Array.from({ length: random.below(5) }, () =>
      Array.from({ length: random.below(7) }, () => signs[random.below(few)]).join(''),
    )
    const padded = random.below(2) === 0 ? [...pieces, '='.repeat(random.below(4))] : pieces
    const expected = decodeAtOnce(padded.join(''))
    const result = decode(padded)
    expect(result === null || result === 'too long' ? null : Buffer.from(result.bytes), JSON.stringify(padded)).toEqual(
      expected,
    )
  }
})

it('returns the digest of the bytes', () => {
  const bytes = Buffer.from('openapi: 3.1.0')
  const digest = createHash('sha256').update(bytes).digest('hex')
  expect(decode([bytes.toString('base64')])).toMatchObject({ digest })
})

it('counts characters, also those that it skips, and stores no more than they yield', () => {
  expect(decode(['A'.repeat(8)], 8)).toMatchObject({ bytes: Buffer.alloc(6) })
  expect(decode(['A'.repeat(8), ' '], 8)).toBe('too long')
  expect(decode(Array<string>(100).fill(' '.repeat(1_000)), 1_000_000, 1e9)).toBeNull()
})
