import { expect, it } from 'vitest'
import { inOnePiece } from '../../../../src/foundation/runtime/one-piece.ts'

it('A text in one piece has the same characters', () => {
  const every = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join('')
  expect(inOnePiece(`${every}${every.slice(20)}`)).toBe(every + every.slice(20))
  expect(inOnePiece('')).toBe('')
})
