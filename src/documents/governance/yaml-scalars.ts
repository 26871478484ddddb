/**
 * Scalars of YAML 1.2 in the core schema. Each function returns null, or undefined where null is a value, for a form that it does
 * not read.
 */

const INTEGER = /^[-+]?[0-9]+$/
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
/** Forms that are rare enough to be read by the YAML parser. */
const RARE = /^(?:0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/
const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...['', '~', 'null', 'Null', 'NULL'].map((text) => [text, null] as const),
  ...['true', 'True', 'TRUE'].map((text) => [text, true] as const),
  ...['false', 'False', 'FALSE'].map((text) => [text, false] as const),
])

/** `chunk` has all lines of the scalar. */
export function toPlainValue(chunk: string): unknown {
  const lines = chunk.trimEnd().split('\n')
  if (lines.length > 1) return toFoldedPlain(lines)
  const text = withoutComment(lines[0] ?? '')
  if (text === null || RARE.test(text)) return undefined
  if (CONSTANTS.has(text)) return CONSTANTS.get(text)
  if (INTEGER.test(text) || FLOAT.test(text)) return Number(text)
  return text
}

/** Returns a text of several lines; undefined if it has a comment or a key. */
function toFoldedPlain(lines: readonly string[]): string | undefined {
  let result = ''
  let blank = 0
  for (const [index, line] of lines.entries()) {
    const text = line.trim()
    if (text === '') blank++
    else {
      if (text.startsWith('#') || withoutComment(text) !== text) return undefined
      result += index === 0 ? '' : blank > 0 ? '\n'.repeat(blank) : ' '
      result += text
      blank = 0
    }
  }
  return result
}

/** Returns null for text that YAML reads as a key, or refuses. */
function withoutComment(line: string): string | null {
  const comment = line.indexOf(' #')
  const text = (comment < 0 ? line : line.slice(0, comment)).trim()
  return text.includes(': ') || text.endsWith(':') || text.includes('\t') ? null : text
}

/** Reads a text that is also JSON. A regular expression would overflow the stack on a text of megabytes. */
export function toDoubleQuoted(chunk: string): string | null {
  try {
    const value: unknown = JSON.parse(chunk.trimEnd())
    return typeof value === 'string' ? value : null
  } catch {
    return null
  }
}

export function toSingleQuoted(chunk: string): string | null {
  const text = chunk.trimEnd()
  const inner = text.slice(1, -1)
  const isWhole = text.length > 1 && text.startsWith("'") && text.endsWith("'")
  if (!isWhole || inner.includes('\n') || inner.replaceAll("''", '').includes("'")) return null
  return inner.replaceAll("''", "'")
}

/** Reads an empty collection, or a list that is also JSON. */
export function toFlowValue(chunk: string): unknown {
  const text = chunk.trimEnd()
  if (text === '{}') return {}
  if (!text.startsWith('[') || text.includes('{')) return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Reads a literal or folded block scalar of a node in the column `parent`. */
export function readBlockScalar(chunk: string, parent: number): string | null {
  const header = /^([|>])([-+]?)([1-9]?)([-+]?)[ ]*(?:#[^\n]*)?\n/.exec(chunk)
  if (header === null || (header[2] !== '' && header[4] !== '')) return null
  const [, style, before, indicator = '', after] = header
  const chomping = before || after
  const lines = chunk.slice(header[0].length).split('\n')
  // The text after the last line break is empty, or the end of the document.
  if (lines.at(-1) === '') lines.pop()
  const first = lines.find((line) => line.trim() !== '')
  if (first === undefined) return null
  const indent = indicator === '' ? first.length - first.trimStart().length : parent + Number(indicator)
  const isIndented = lines.every((line) => line.startsWith(' '.repeat(indent)) || line.trim() === '')
  const leading = lines.slice(0, lines.indexOf(first))
  if (!isIndented || leading.some((line) => line.length > indent)) return null
  const content = lines.map((line) => line.slice(indent))
  let last = content.length
  while (last > 0 && content[last - 1] === '') last--
  const body = content.slice(0, last)
  const text = style === '|' ? body.join('\n') : fold(body)
  const end = chomping === '-' ? '' : chomping === '+' ? '\n'.repeat(content.length - last + 1) : '\n'
  return text + end
}

/** Joins lines by spaces, except empty lines and lines that are indented further (YAML 1.2, 8.1.3). */
function fold(lines: readonly string[]): string {
  let result = ''
  let blank = 0
  let previous: string | null = null
  for (const line of lines) {
    if (line === '') {
      blank++
      continue
    }
    const isPlain = !line.startsWith(' ') && !(previous ?? '').startsWith(' ')
    if (previous === null) result += '\n'.repeat(blank)
    else if (isPlain) result += blank === 0 ? ' ' : '\n'.repeat(blank)
    else result += '\n'.repeat(blank + 1)
    result += line
    previous = line
    blank = 0
  }
  return result
}
