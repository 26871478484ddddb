/** Text that is safe to print, and its width on a terminal. Names are untrusted input. */

/** Control characters, and the characters that reverse the direction of text. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Characters that take two columns: East Asian wide ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const ASCII = /^[ -~]*$/
/** Longer texts are shortened before their width is measured. */
const MEASURED_MAX = 2_000

const segmenter = new Intl.Segmenter()

/** Replaces each character that could change the terminal by `?`. */
export function toPlain(text: string): string {
  return text.replace(UNSAFE, '?')
}

export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  return [...segmenter.segment(text)].reduce((sum, { segment }) => sum + columnsOf(segment), 0)
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

function columnsOf(segment: string): number {
  return WIDE.test(segment) ? 2 : 1
}
