/**
 * Reads values of a parsed document and collects all faults and warnings, each with its RFC 6901 pointer, so that the author of a
 * declaration sees all of them together.
 */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'

export type Fields = Readonly<Record<string, unknown>>

export interface NumberRange {
  readonly above?: number
  readonly from?: number
  readonly max?: number
}

const FINDINGS_MAX = 100
const QUOTED_LENGTH_MAX = 100

export class Faults {
  readonly all: ProblemPointer[] = []
  readonly warnings: ProblemPointer[] = []

  add(pointer: string, detail: string): void {
    if (this.all.length < FINDINGS_MAX) this.all.push({ pointer, detail })
  }

  warn(pointer: string, detail: string): void {
    if (this.warnings.length < FINDINGS_MAX) this.warnings.push({ pointer, detail })
  }

  /** Warns of members that are ignored; those that start with `x-` belong to the author. */
  warnOfOthers(fields: Fields, known: readonly string[], pointer: string): void {
    for (const key of Object.keys(fields)) {
      if (!known.includes(key) && !key.startsWith('x-'))
        this.warn(
          pointerTo(pointer, key),
          'This member is unknown and ignored. Names that start with "x-" are reserved for your own members.',
        )
    }
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldsAt(value: unknown, pointer: string, faults: Faults): Fields | null {
  if (value === undefined) return null
  if (isFields(value)) return value
  faults.add(pointer, 'Give an object.')
  return null
}

export function listAt(value: unknown, pointer: string, faults: Faults, itemsMax = Infinity): readonly unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.length <= itemsMax) return value as readonly unknown[]
  faults.add(pointer, itemsMax === Infinity ? 'Give a list.' : `Give a list of at most ${itemsMax}.`)
  return []
}

export function textAt(value: unknown, pointer: string, faults: Faults): string | null {
  if (typeof value === 'string' && value.length > 0 && value.length <= 256) return value
  faults.add(pointer, 'Give a text of 1 to 256 characters.')
  return null
}

export function wholeAt(value: unknown, pointer: string, faults: Faults): number | null {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  faults.add(pointer, 'Give a whole number of 0 or more.')
  return null
}

/** Reads a number, or its text, as which fractions arrive. Returns null if it is missing or out of range. */
export function numberAt(
  value: unknown,
  pointer: string,
  faults: Faults,
  { above = -Infinity, from = -Infinity, max = Infinity }: NumberRange,
): number | null {
  if (value === undefined) return null
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && number > above && number >= from && number <= max) return number
  const bounds = [
    above > -Infinity && `above ${above}`,
    from > -Infinity && `from ${from}`,
    max < Infinity && `up to ${max}`,
  ]
  faults.add(pointer, `Give a number ${bounds.filter(Boolean).join(' and ')}.`)
  return null
}

/** Returns null if there is no list, which means all operations. */
export function operationsAt(
  value: unknown,
  pointer: string,
  known: ReadonlySet<string>,
  faults: Faults,
): readonly string[] | null {
  if (value === undefined) return null
  const ids = listAt(value, pointer, faults)
  if (Array.isArray(value) && value.length === 0)
    faults.warn(
      pointer,
      'This never applies: the list of operations is empty. To include all operations, leave out the list.',
    )
  return ids.filter((id, index): id is string => {
    if (typeof id === 'string' && known.has(id)) return true
    faults.add(`${pointer}/${index}`, unknownOperation(id, known))
    return false
  })
}

const OPERATIONS_SHOWN_MAX = 10

/** Returns the fault of an operation that the document lacks, with those that it has. */
export function unknownOperation(id: unknown, known: ReadonlySet<string>): string {
  const shown = [...known].slice(0, OPERATIONS_SHOWN_MAX).map(quoted)
  const more = known.size > shown.length ? ` and ${known.size - shown.length} more` : ''
  return `The API has no operation "${quoted(id)}". Its operations are: ${shown.join(', ')}${more}.`
}

function quoted(value: unknown): string {
  return String(value).slice(0, QUOTED_LENGTH_MAX)
}

/** RFC 6901 */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}
