/** Differences between two versions of a document, with their effect on existing clients. */

import { RULES, type ChangeLevel, type RuleId } from './change-rules.ts'
import { levelIn } from './policy-rules.ts'
import { EMPTY_RULESET, type RulesetDocument } from '../ruleset-document.ts'
import { createWorkBudget, type WorkBudget } from '../containment/work-budget.ts'

export interface Change {
  /** Stable name of the rule. */
  readonly id: string
  readonly level: ChangeLevel
  /** RFC 6901 pointer: into the earlier document for what was removed, else into the later one. */
  readonly pointer: string
  /** RFC 6901 pointer into the earlier document; null for what is new. */
  readonly previousPointer: string | null
  readonly message: string
  /** Every operation that the change affects, such as `POST /things`; empty: the API as a whole. */
  readonly operations: readonly string[]
}

/** A change with its places in the texts of both documents. */
export interface PlacedChange extends Change {
  /** Place in the later document; that of the nearest ancestor if the change removed something. */
  readonly line: number
  readonly column: number
  /** Place in the earlier document; null for what is new. */
  readonly previousLine: number | null
  readonly previousColumn: number | null
}

export interface Comparison {
  readonly changes: readonly PlacedChange[]
  /** `servers[0].url` of the earlier document; null if it is not absolute. */
  readonly serverUrl: string | null
}

/** The id of the only change if the earlier document cannot be read. */
export const PREVIOUS_INVALID = 'previous.invalid'

export interface Reported {
  readonly pointer: string
  readonly previousPointer?: string | null
  /** Identifies the change if the pointer alone does not. */
  readonly detail?: string
  readonly operations?: Iterable<string>
}

/** Records a change, or that a recorded change affects a further operation. */
export type Report = (id: RuleId, change: Reported) => void

const DETAIL_MAX = 128

/** Work of a new change, and of an operation that it names. */
const WORK = { change: 20, operation: 1 } as const

export interface ReportOptions {
  readonly budget?: WorkBudget
  /** Sets the levels of the policy checks. */
  readonly ruleset?: RulesetDocument
}

/** Changes are few as long as the work of the comparison is bounded. */
export function createReport({ budget = createWorkBudget(Infinity), ruleset = EMPTY_RULESET }: ReportOptions = {}): {
  readonly report: Report
  readonly changes: () => readonly Change[]
} {
  const found = new Map<string, Omit<Change, 'operations'> & { readonly operations: Set<string> }>()
  const order: Readonly<Record<ChangeLevel, number>> = { breaking: 0, warning: 1, info: 2 }

  return {
    report(id, { pointer, previousPointer = null, detail = '', operations = [] }) {
      const key = `${id} ${pointer} ${detail}`
      let change = found.get(key)
      if (change === undefined) {
        budget.spend(WORK.change)
        const level = levelIn(ruleset, id)
        if (level === 'off') return
        const [, text] = RULES[id]
        const message = detail === '' ? text : `${text} (${detail.slice(0, DETAIL_MAX)})`
        found.set(key, (change = { id, level, pointer, previousPointer, message, operations: new Set() }))
      }
      for (const operation of operations) {
        budget.spend(WORK.operation)
        change.operations.add(operation)
      }
    },
    changes: () =>
      [...found.values()]
        .map((change) => ({ ...change, operations: [...change.operations] }))
        .sort(
          (a, b) => order[a.level] - order[b.level] || compareTexts(a.pointer, b.pointer) || compareTexts(a.id, b.id),
        ),
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
