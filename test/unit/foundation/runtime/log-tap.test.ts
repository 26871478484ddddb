import { describe, expect, it } from 'vitest'
import { createLogTap } from '../../../../src/foundation/runtime/log-tap.ts'

describe('A tap of the log', () => {
  it('passes on the lines before and after the reader connects', () => {
    const tap = createLogTap()
    const lines: string[] = []
    tap.write('a')
    tap.connect((line) => lines.push(line))
    tap.write('b')
    expect(lines).toEqual(['a', 'b'])
  })

  it('keeps a bounded number of lines, and tells how many it dropped', () => {
    const tap = createLogTap()
    for (let line = 0; line < 5_000; line++) tap.write(String(line))
    const lines: string[] = []
    expect(tap.connect((line) => lines.push(line))).toBe(4_000)
    expect(lines).toHaveLength(1_000)
  })

  it('keeps the lines between two readers, and passes each line to one of them', () => {
    const tap = createLogTap()
    for (let line = 0; line < 1_001; line++) tap.write(String(line))
    const [first, second]: [string[], string[]] = [[], []]
    expect(tap.connect((line) => first.push(line))).toBe(1)
    tap.write('a')
    tap.disconnect()
    tap.write('b')
    expect(tap.connect((line) => second.push(line))).toBe(0)
    tap.write('c')
    expect([first.at(-1), second]).toEqual(['a', ['b', 'c']])
  })
})
