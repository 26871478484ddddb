/** The cursor of a page of a summary: the key of its last group. Text from a caller is accepted only if it has this shape. */

import { Problem } from '../../../foundation/domain/problem.ts'
import { keyColumns, type SummaryKey, type SummaryShape } from './summary-sql.ts'

const UINT32_END = 2 ** 32

export function toSummaryCursor(key: SummaryKey): string {
  return JSON.stringify(key)
}

export function parseSummaryCursor(text: string, shape: SummaryShape): SummaryKey {
  try {
    const key: unknown = JSON.parse(text)
    const columns = keyColumns(shape)
    if (Array.isArray(key) && key.length === columns.length && columns.every((name, at) => isPart(name, key[at])))
      return key as SummaryKey
  } catch {
    // Not JSON: refused below.
  }
  throw new Problem('cursor_invalid', 'Send the `next` of the previous page unchanged, with the same groups.')
}

function isPart(column: string, value: unknown): boolean {
  if (column !== 'start_s' && column !== 'revision') return typeof value === 'string'
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < UINT32_END
}
