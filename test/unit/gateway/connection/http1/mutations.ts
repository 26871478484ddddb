/** Random choices, and mutations of messages. */

import type { Random } from '../../../../random.ts'

export const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)]!
export const some = (random: Random, chance: number): boolean => random.next() < chance

/** What stands between the parts of a message, and in their place. */
export const SEPARATORS: readonly string[] = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\n\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';a=b',
  ';a="\r\n"',
  '0\r\n\r\n',
  '0',
  'ffffffffffffffff',
  '-1',
  '\x0b',
  '\x7f',
  '\xff',
]

/** Inserts a token, removes or changes bytes, or repeats a line. */
export function mutate(random: Random, text: string, tokens: readonly string[]): string {
  const at = random.below(text.length + 1)
  const length = random.below(6)
  switch (random.below(7)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1 + length)
    case 1:
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1)
    case 2:
      return text.slice(0, at)
    case 3:
      return text + pick(random, tokens)
    case 4: {
      // A line of the head twice.
      const lines = text.split('\r\n')
      const line = random.below(lines.length)
      return lines.toSpliced(line, 0, lines[line]!).join('\r\n')
    }
    default: {
      // At the start of a line, where it means most, or anywhere.
      const start = some(random, 0.6) ? text.indexOf('\n', at) + 1 : at
      return text.slice(0, start) + pick(random, tokens) + text.slice(start)
    }
  }
}

/** Returns where bytes are split into reads, in order. */
export function randomSplits(random: Random, length: number): readonly number[] {
  return Array.from({ length: random.below(4) }, () => random.below(length + 1)).toSorted((a, b) => a - b)
}

/** Returns the body in chunks of random lengths. */
export function chunked(random: Random, body: string): string {
  let text = ''
  for (let at = 0; at < body.length;) {
    const part = body.slice(at, at + 1 + random.below(Math.max(30, body.length / 10)))
    text += `${part.length.toString(16)}${some(random, 0.1) ? ';a=b' : ''}\r\n${part}\r\n`
    at += part.length
  }
  return `${text}0\r\n${some(random, 0.15) ? 'X-Trailer: a\r\n' : ''}\r\n`
}
