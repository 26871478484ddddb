/** Changes as a changelog in Markdown: what breaks callers first, each with its operations and its places. */

import { escapeMarkdown } from '../../../foundation/domain/plain-text.ts'
import type { PlacedChange } from './change.ts'

export interface ChangelogEntry {
  /** The rule of the change. */
  readonly id: string
  readonly isBreaking: boolean
  readonly text: string
  readonly operations: readonly string[]
  readonly pointer: string
  readonly place: string
  /** Null for what is new. */
  readonly previousPlace: string | null
}

const HEADINGS = ['Breaking', 'Added', 'Changed', 'Deprecated', 'Removed'] as const
const OPERATIONS_MAX = 20
const CHANGES_MAX = 500

/** The whole changelog, of at most `CHANGES_MAX` changes. */
export function toChangelog(changes: readonly PlacedChange[]): string {
  const entries = changes.slice(0, CHANGES_MAX).map((change): ChangelogEntry => {
    const { id, level, message, operations, pointer, line, column, previousLine, previousColumn } = change
    const previousPlace = previousLine === null ? null : `${previousLine}:${previousColumn}`
    const place = `${line}:${column}`
    return { id, isBreaking: level === 'breaking', text: message, operations, pointer, place, previousPlace }
  })
  const rest = changes.length - entries.length
  const more = rest > 0 ? [`_${rest} more changes are not listed._`] : []
  return `${['# Changes of the API', ...toChangelogSections(entries), ...more].join('\n\n')}\n`
}

/** The sections, or one sentence if there is no change. */
export function toChangelogSections(entries: readonly ChangelogEntry[]): readonly string[] {
  const byHeading = Map.groupBy(entries, headingOf)
  const sections = HEADINGS.flatMap((heading) => {
    const changes = byHeading.get(heading) ?? []
    return changes.length === 0 ? [] : [`### ${heading}`, changes.map(toItem).join('\n')]
  })
  return sections.length === 0 ? ['No changes.'] : sections
}

/** By the name of the rule: its last part names what happened. */
function headingOf({ id, isBreaking }: ChangelogEntry): (typeof HEADINGS)[number] {
  if (isBreaking) return 'Breaking'
  const what = id.slice(id.lastIndexOf('.') + 1)
  if (id === 'operation.deprecated' || id.startsWith('operation.sunset.')) return 'Deprecated'
  if (what === 'added') return 'Added'
  return what === 'removed' || what === 'sunset' || what === 'undeclared' ? 'Removed' : 'Changed'
}

/** The operations, what the change means for a caller, and its places. */
function toItem({ id, text, operations, pointer, place, previousPlace }: ChangelogEntry): string {
  const was = previousPlace === null ? '' : `, was ${previousPlace}`
  const rest = operations.length - OPERATIONS_MAX
  const named = operations.slice(0, OPERATIONS_MAX).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
  const sentence = escapeMarkdown(named === '' ? text : `${named}: ${text}`)
  return `- ${sentence} ${escapeMarkdown(pointer)} (line ${escapeMarkdown(place)}${escapeMarkdown(was)}; ${escapeMarkdown(id)})`
}
