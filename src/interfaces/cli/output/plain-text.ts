/** Text that is safe to print, and its width and lines on a terminal. Names are untrusted input. */

/** Control characters, and the characters that reverse the direction of text. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Characters that take two columns: East Asian wide ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const ASCII = /^[ -~]*$/
/** Longer texts are shortened before their width is measured. */
const MEASURED_MAX = 2_000

/** The width of a time and a gap, with which the lines of events begin. */
const INDENT = ' '.repeat(10)

const segmenter = new Intl.Segmenter()

/** Replaces each character that could change the terminal by `?`. */
export function toPlain(text: string): string {
  return text.replace(UNSAFE, '?')
}

export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  return [...segmenter.segment(text)].reduce((sum, { segment }) => sum + columnsOf(segment), 0)
}

export function widestOf(texts: readonly string[]): number {
  return texts.reduce((widest, text) => Math.max(widest, widthOf(text)), 0)
}

/** Shortens the text to a width, with `…` in place of the rest. */
export function fit(text: string, width: number): string {
  const bounded = text.length > MEASURED_MAX ? `${text.slice(0, MEASURED_MAX)}…` : text
  if (widthOf(bounded) <= width) return bounded
  let used = 1
  let kept = ''
  for (const { segment } of segmenter.segment(bounded)) {
    used += columnsOf(segment)
    if (used > width) break
    kept += segment
  }
  return `${kept}…`
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

/** Breaks a text at blanks, and a word that is wider than a line anywhere. */
export function wrap(text: string, width: number): readonly string[] {
  if (widthOf(text) <= width) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    const pieces = cut(word, width)
    lines.push(...pieces.slice(0, -1))
    line = pieces.at(-1) ?? ''
  }
  return [...lines, line]
}

/** Cuts a word into pieces of a width; a wide character may exceed a width of 1. */
function cut(word: string, width: number): readonly string[] {
  if (ASCII.test(word)) {
    const count = Math.ceil(word.length / width)
    return Array.from({ length: count }, (_, index) => word.slice(index * width, (index + 1) * width))
  }
  const pieces: string[] = []
  let piece = ''
  let used = 0
  for (const { segment } of segmenter.segment(word)) {
    const columns = columnsOf(segment)
    if (used + columns > width && piece !== '') {
      pieces.push(piece)
      piece = ''
      used = 0
    }
    piece += segment
    used += columns
  }
  return [...pieces, piece]
}

/** Joins the parts of a line with two blanks; parts that do not fit continue on indented lines. */
export function flow(parts: readonly string[], columns: number): string {
  const lines: string[] = []
  let line = ''
  for (const part of parts) {
    const longer = line === '' ? part : `${line}  ${part}`
    if (widthOf(longer.trimEnd()) <= columns) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line.trimEnd())
    const wrapped = wrap(part.trimEnd(), Math.max(1, columns - INDENT.length)).map((text) => INDENT + text)
    lines.push(...wrapped.slice(0, -1))
    line = wrapped.at(-1) ?? ''
  }
  return [...lines, line.trimEnd()].join('\n')
}

function columnsOf(segment: string): number {
  return WIDE.test(segment) ? 2 : 1
}
