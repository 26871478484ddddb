/**
 * The ignore file: findings that a team accepts, each with a reason and until a date.
 *
 *   ignore:
 *     - rule: pagination
 *       pointer: /paths/~1cards      # and everything below it; absent: the whole document
 *       file: apis/*.yaml            # a pattern; absent: every document
 *       reason: The list has at most ten entries.
 *       expires: 2027-03-31          # the last day, in UTC
 */

import { matchesGlob, normalize } from 'node:path'
import { DAY_MS } from '../../../foundation/domain/calendar.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { InputFault } from './input-fault.ts'

export interface IgnoreFile {
  /** Returns the reason if an entry that has not expired covers the finding; otherwise null. */
  reasonFor(file: string, finding: { readonly rule: string; readonly pointer: string }): string | null
  /** Describes entries that have expired, and entries that covered nothing so far. */
  notes(): readonly string[]
}

interface Entry {
  readonly rule: string
  readonly pointer: string
  readonly pattern: string | null
  readonly reason: string
  readonly expires: string
  readonly isExpired: boolean
  isUsed: boolean
}

const MEMBERS: ReadonlySet<string> = new Set(['rule', 'pointer', 'file', 'reason', 'expires'])
const DATE = /^\d{4}-\d{2}-\d{2}$/

export const NO_IGNORES: IgnoreFile = { reasonFor: () => null, notes: () => [] }

/** Throws `InputFault` for the first entry that is incomplete. */
export function readIgnores(name: string, content: Fields, nowMs: number): IgnoreFile {
  const { ignore } = content
  if (!Array.isArray(ignore)) throw new InputFault(name, `--ignore-file ${name}: \`ignore\` must be a list.`)
  const entries = ignore.map((given, index) => {
    const read = toEntry(fieldsOf(given), nowMs)
    if (typeof read === 'string') throw new InputFault(name, `--ignore-file ${name}: entry ${index + 1} ${read}.`)
    return read
  })

  return {
    reasonFor(file, finding) {
      const covering = entries.filter((entry) => covers(entry, file, finding))
      for (const entry of covering) entry.isUsed = true
      return covering.find(({ isExpired }) => !isExpired)?.reason ?? null
    },
    notes: () => entries.flatMap((entry, index) => noteOf(entry, index + 1)),
  }
}

/** Returns the fault of an incomplete entry as text. */
function toEntry(given: Fields, nowMs: number): Entry | string {
  const { rule, pointer = '', file = null, reason, expires } = given
  const unknown = Object.keys(given).find((name) => !MEMBERS.has(name))
  if (unknown !== undefined) return `has the unknown member \`${unknown.slice(0, 80)}\``
  if (typeof rule !== 'string' || rule === '') return 'needs a `rule`'
  if (typeof reason !== 'string' || reason.trim() === '') return 'needs a `reason`'
  const endMs = typeof expires === 'string' && DATE.test(expires) ? Date.parse(expires) + DAY_MS : NaN
  if (Number.isNaN(endMs)) return 'needs `expires`, a date such as 2027-03-31'
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) {
    return 'has a `pointer` that does not begin with /'
  }
  if (file !== null && typeof file !== 'string') return 'has a `file` that is not a text'
  return { rule, pointer, pattern: file, reason, expires: String(expires), isExpired: nowMs >= endMs, isUsed: false }
}

function covers(entry: Entry, file: string, { rule, pointer }: { readonly rule: string; readonly pointer: string }) {
  const { pattern } = entry
  return (
    entry.rule === rule &&
    (pointer === entry.pointer || pointer.startsWith(`${entry.pointer}/`)) &&
    (pattern === null || matchesGlob(normalize(file), normalize(pattern)))
  )
}

function noteOf({ rule, expires, isExpired, isUsed }: Entry, number: number): readonly string[] {
  const name = `Entry ${number} of the ignore file (${rule})`
  if (isExpired) return [`${name} expired on ${expires}${isUsed ? ': its findings count again' : ''}.`]
  return isUsed ? [] : [`${name} covers no finding.`]
}
