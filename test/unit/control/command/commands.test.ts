import { describe, expect, it } from 'vitest'
import { fromBase64 } from '../../../../src/control/command/commands.ts'

describe('base64', () => {
  it.each([
    ['QUI=', 'AB'],
    ['QUI', 'AB'],
    ['QQ==', 'A'],
    ['QQ', 'A'],
    ['QUJD', 'ABC'],
    [' Q\nU J\tD ', 'ABC'],
    ['+/+/', Buffer.from([0xfb, 0xff, 0xbf]).toString('latin1')],
  ])('%j is decoded', (text, expected) => {
    expect(fromBase64(text, '/a').toString('latin1')).toBe(expected)
  })

  it.each([
    '',
    '=',
    '==',
    ' ',
    'Q',
    'QUJDR',
    'QUJ?',
    'QUJDé',
    'QU=I',
    'Q===',
    'QUI=QUI=',
    '-_-_',
    'QUJD.',
    'QUJ\u0000',
  ])('%j is refused', (text) => {
    expect(() => fromBase64(text, '/a')).toThrow('The body does not match its schema.')
  })
})
