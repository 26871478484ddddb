/** Sample texts for a pattern or a format. A sample may fail the pattern; the validator has the last word. */

const REPEAT_MAX = 100
const CLASSES: Readonly<Record<string, string>> = { d: '1', D: 'a', w: 'a', W: '-', s: ' ', S: 'a', t: '\t', n: '\n' }
const FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ['date', ['2026-01-02', '2026-13-02']],
  ['time', ['10:20:30Z', '25:00:00Z']],
  ['date-time', ['2026-01-02T10:20:30Z', '2026-01-02T10:20:30']],
  ['duration', ['P1D', 'P']],
  ['uuid', ['123e4567-e89b-42d3-a456-426614174000', '123e4567']],
  ['email', ['a@example.com', 'a@']],
  ['hostname', ['example.com', '-']],
  ['ipv4', ['192.0.2.1', '192.0.2.256']],
  ['ipv6', ['2001:db8::1', '2001:db8::g']],
  ['uri', ['https://example.com/a', 'a b']],
  ['uri-reference', ['/a', '\\']],
  ['uri-template', ['/a/{b}', '/a/{b']],
  ['json-pointer', ['/a', 'a']],
  ['regex', ['^a$', '(']],
  ['byte', ['YQ==', 'a']],
])

export const FORMAT_SAMPLES: readonly string[] = [...FORMATS.values()].flatMap(([valid = '']) => valid)

export function samplesOfFormat(format: string): readonly string[] {
  return FORMATS.get(format) ?? []
}

/** Returns texts that a simple pattern matches: its alternatives, few and many repetitions, and more text at open ends. */
export function samplesOfPattern(pattern: string): readonly string[] {
  const found = [false, true].flatMap((isLong) =>
    [0, 1, 2].map((turn) => new PatternSample(pattern, isLong, turn).read()),
  )
  const [one = ''] = found
  const longer = [...(pattern.endsWith('$') ? [] : [`${one}b`]), ...(pattern.startsWith('^') ? [] : [`b${one}`])]
  return [...new Set([...found, ...longer])]
}

/** Reads one pattern from the left; `turn` chooses among alternatives and the members of classes. */
class PatternSample {
  readonly #pattern: string
  readonly #isLong: boolean
  readonly #turn: number
  #at = 0

  constructor(pattern: string, isLong: boolean, turn: number) {
    this.#pattern = pattern
    this.#isLong = isLong
    this.#turn = turn
  }

  read(): string {
    const found = [this.#readSequence()]
    while (this.#pattern[this.#at] === '|') {
      this.#at++
      found.push(this.#readSequence())
    }
    return found[this.#turn % found.length] ?? ''
  }

  #readSequence(): string {
    let text = ''
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== '|' && this.#pattern[this.#at] !== ')')
      text += this.#repeat(this.#readAtom())
    return text
  }

  #readAtom(): string {
    const char = this.#pattern[this.#at++] ?? ''
    if (char === '^' || char === '$') return ''
    if (char === '.') return 'a'
    if (char === '(') return this.#readGroup()
    if (char === '[') return this.#readClass()
    return char === '\\' ? this.#readEscape() : char
  }

  #readGroup(): string {
    const head = /^\?(?::|<[^>]*>)/.exec(this.#pattern.slice(this.#at))
    if (head !== null) this.#at += head[0].length
    const text = this.read()
    this.#at++
    return text
  }

  #readEscape(): string {
    const char = this.#pattern[this.#at++] ?? ''
    if ((char === 'p' || char === 'P') && this.#pattern[this.#at] === '{') {
      const end = this.#pattern.indexOf('}', this.#at)
      this.#at = end < 0 ? this.#pattern.length : end + 1
      return char === 'p' ? 'A' : 'я'
    }
    if (char === 'b' || char === 'B') return ''
    const code = /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4}))/.exec(this.#pattern.slice(this.#at - 1))
    if (code === null) return CLASSES[char] ?? char
    this.#at += code[0].length - 1
    return String.fromCharCode(parseInt(code[1] ?? code[2] ?? '0', 16))
  }

  #readClass(): string {
    const isNegated = this.#pattern[this.#at] === '^'
    if (isNegated) this.#at++
    const members: string[] = []
    for (
      let isFirst = true;
      this.#at < this.#pattern.length && (this.#pattern[this.#at] !== ']' || isFirst);
      isFirst = false
    ) {
      if (this.#pattern[this.#at] === '-' && members.length > 0 && this.#pattern[this.#at + 1] !== ']') this.#at++
      members.push(
        this.#pattern[this.#at] === '\\' ? (this.#at++, this.#readEscape()) : (this.#pattern[this.#at++] ?? ''),
      )
    }
    this.#at++
    if (!isNegated) return members[this.#turn % members.length] ?? ''
    return ['a', 'Z', '0', ' ', '~'].find((each) => !members.includes(each)) ?? ''
  }

  #repeat(atom: string): string {
    const times = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(this.#pattern.slice(this.#at))
    if (times === null) return atom
    this.#at += times[0].length
    const [least, most] = timesOf(times[0], times[1], times[2], times[3])
    return atom.repeat(Math.min(this.#isLong ? most : least, REPEAT_MAX))
  }
}

function timesOf(text: string, min = '', comma = '', max = ''): readonly [least: number, most: number] {
  if (text.startsWith('*')) return [0, 3]
  if (text.startsWith('+')) return [1, 3]
  if (text.startsWith('?')) return [0, 1]
  const least = Number(min)
  return [least, comma === '' ? least : max === '' ? least + 2 : Number(max)]
}
