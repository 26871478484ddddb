import { describe, expect, it } from 'vitest'
import { lineAt, linesOf } from '../../../../../src/interfaces/console/parts/json-lines.ts'

const TEXT = `{
  "a/b~": [
    1, { "x": "}\\" ]" },
    [],
    -1.5e3
  ],
  "": null,
  "deep": {
    "y": true }
}`

describe('lines of a JSON text', () => {
  it('are those of its members, by their pointers', () => {
    expect(Object.fromEntries(linesOf(TEXT))).toEqual({
      '': 1,
      '/a~1b~0': 2,
      '/a~1b~0/0': 3,
      '/a~1b~0/1': 3,
      '/a~1b~0/1/x': 3,
      '/a~1b~0/2': 4,
      '/a~1b~0/3': 5,
      '/': 7,
      '/deep': 8,
      '/deep/y': 9,
    })
  })

  it('are those of the nearest member for a pointer that the text does not have', () => {
    const lines = linesOf(TEXT)
    expect(lineAt(lines, '/deep/z/9')).toBe(8)
    expect(lineAt(lines, '/none')).toBe(1)
    expect(lineAt(lines, '')).toBe(1)
  })
})
