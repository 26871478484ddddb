/** Colours of severities and states. Colour only repeats the meaning of a word. */

import { styleText } from 'node:util'

type Style = 'red' | 'yellow' | 'cyan' | 'green' | 'gray' | 'bold'

const STYLES: ReadonlyMap<string, Style> = new Map([
  ...(['Critical', 'failed', 'Rejected', 'Revoked', 'Cancelled', 'error'] as const).map(
    (word) => [word, 'red'] as const,
  ),
  ...(['Warning', 'Suspended', 'Pending', 'waiting', 'Deprecated', 'Expiring', 'warning'] as const).map(
    (word) => [word, 'yellow'] as const,
  ),
  ...(['Info', 'running', 'InProgress'] as const).map((word) => [word, 'cyan'] as const),
  ...(['Active', 'succeeded', 'done', 'Approved', 'served'] as const).map((word) => [word, 'green'] as const),
  ...(['Retired', 'Expired', 'cleared'] as const).map((word) => [word, 'gray'] as const),
])
const COLOURED = new Set(['severity', 'state', 'status', 'outcome', 'phase'])

export function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false })
}

/** Paints a padded word in the colour of its meaning. */
export function paintWord(word: string, text: string = word): string {
  const style = STYLES.get(word)
  return style === undefined ? text : paint(style, text)
}

export function paintCell(column: string, text: string, value: unknown): string {
  return COLOURED.has(column) && typeof value === 'string' ? paintWord(value, text) : text
}
