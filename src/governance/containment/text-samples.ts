/** Sample texts for a pattern or a format. A sample may fail the pattern; the validator has the last word. */

const REPEAT_MAX = 100
const CLASSES: Readonly<Record<string, string>> = { d: '1', D: 'a', w: 'a', W: '-', s: ' ', S: 'a', t: '\t', n: '\n' }
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  date: ['2026-01-02', '2026-13-02'],
  time: ['10:20:30Z', '25:00:00Z'],
  'date-time': ['2026-01-02T10:20:30Z', '2026-01-02T10:20:30'],
  duration: ['P1D', 'P'],
  uuid: ['123e4567-e89b-42d3-a456-426614174000', '123e4567'],
  email: ['a@example.com', 'a@'],
  hostname: ['example.com', '-'],
  ipv4: ['192.0.2.1', '192.0.2.256'],
  ipv6: ['2001:db8::1', '2001:db8::g'],
  uri: ['https://example.com/a', 'a b'],
  'uri-reference': ['/a', '\\'],
  'uri-template': ['/a/{b}', '/a/{b'],
  'json-pointer': ['/a', 'a'],
  regex: ['^a$', '('],
  byte: ['YQ==', 'a'],
}

export const FORMAT_SAMPLES: readonly string[] = Object.values(FORMATS).flatMap(([valid = '']) => valid)

export function samplesOfFormat(format: string): readonly string[] {
  return FORMATS[format] ?? []
}

/** Returns texts that a simple pattern matches: its alternatives, and few and many repetitions. */
export function samplesOfPattern(pattern: string): readonly string[] {
  return [...new Set([false, true].flatMap((isLong) => [0, 1, 2].map((turn) => sample(pattern, isLong, turn))))]
}

/** Reads one pattern from the left; `turn` chooses among alternatives and the members of classes. */
function sample(pattern: string, isLong: boolean, turn: number): string {
  let at = 0

  function readAlternatives(): string {
    const found = [readSequence()]
    while (pattern[at] === '|') {
      at++
      found.push(readSequence())
    }
    return found[turn % found.length] ?? ''
  }

  function readSequence(): string {
    let text = ''
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') text += repeat(readAtom())
    return text
  }

  function readAtom(): string {
    const char = pattern[at++] ?? ''
    if (char === '^' || char === '$') return ''
    if (char === '.') return 'a'
    if (char === '(') return readGroup()
    if (char === '[') return readClass()
    return char === '\\' ? readEscape() : char
  }

  function readGroup(): string {
    const head = /^\?(?::|<[^>]*>)/.exec(pattern.slice(at))
    if (head !== null) at += head[0].length
    const text = readAlternatives()
    at++
    return text
  }

  function readEscape(): string {
    const char = pattern[at++] ?? ''
    if ((char === 'p' || char === 'P') && pattern[at] === '{') {
      const end = pattern.indexOf('}', at)
      at = end < 0 ? pattern.length : end + 1
      return char === 'p' ? 'A' : 'я'
    }
    if (char === 'b' || char === 'B') return ''
    const code = /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4}))/.exec(pattern.slice(at - 1))
    if (code === null) return CLASSES[char] ?? char
    at += code[0].length - 1
    return String.fromCharCode(parseInt(code[1] ?? code[2] ?? '0', 16))
  }

  function readClass(): string {
    const isNegated = pattern[at] === '^'
    if (isNegated) at++
    const members: string[] = []
    for (let isFirst = true; at < pattern.length && (pattern[at] !== ']' || isFirst); isFirst = false) {
      if (pattern[at] === '-' && members.length > 0 && pattern[at + 1] !== ']') at++
      members.push(pattern[at] === '\\' ? (at++, readEscape()) : (pattern[at++] ?? ''))
    }
    at++
    if (!isNegated) return members[turn % members.length] ?? ''
    return ['a', 'Z', '0', ' ', '~'].find((each) => !members.includes(each)) ?? ''
  }

  function repeat(atom: string): string {
    const times = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(pattern.slice(at))
    if (times === null) return atom
    at += times[0].length
    const [least, most] = timesOf(times[0], times[1], times[2], times[3])
    return atom.repeat(Math.min(isLong ? most : least, REPEAT_MAX))
  }

  return readAlternatives()
}

function timesOf(text: string, min = '', comma = '', max = ''): readonly [least: number, most: number] {
  if (text.startsWith('*')) return [0, 3]
  if (text.startsWith('+')) return [1, 3]
  if (text.startsWith('?')) return [0, 1]
  const least = Number(min)
  return [least, comma === '' ? least : max === '' ? least + 2 : Number(max)]
}
