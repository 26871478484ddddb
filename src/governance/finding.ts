/** What is wrong with a document, or could be better: one finding a place and rule. */

export type FindingSeverity = 'error' | 'warning' | 'info'
export type FindingCategory = 'validity' | 'design' | 'documentation' | 'security'

export const FINDING_CATEGORIES = ['validity', 'design', 'documentation', 'security'] as const

export interface Finding {
  /** Stable name of the rule. */
  readonly rule: string
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  readonly message: string
  /** What to do about it. */
  readonly advice: string
  /** RFC 6901 */
  readonly pointer: string
  /** In the original text, from 1. */
  readonly line: number
  readonly column: number
  /** Of rule and place: the same from run to run. */
  readonly fingerprint: string
  /** Name of the tenant's principle that the rule enforces; null: none names it. */
  readonly principle: string | null
}

const ORDER: Readonly<Record<FindingSeverity, number>> = { error: 0, warning: 1, info: 2 }

type Ranked = Pick<Finding, 'severity' | 'rule' | 'pointer'> & Partial<Pick<Finding, 'line' | 'column'>>

/** As a rule tells of it, before its place in the text is looked for. */
export type Spot = Omit<Finding, 'line' | 'column' | 'fingerprint' | 'principle'>

/** The gravest first, then in the order of the rules' names and of the places in the text: the same in every run. */
export function compareFindings(a: Ranked, b: Ranked): number {
  return (
    ORDER[a.severity] - ORDER[b.severity] ||
    compareTexts(a.rule, b.rule) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.column ?? 0) - (b.column ?? 0) ||
    compareTexts(a.pointer, b.pointer)
  )
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
