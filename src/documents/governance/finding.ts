/** A finding: one place at which a document violates one rule. */

export type FindingSeverity = 'error' | 'warning' | 'info'
export type FindingCategory = 'validity' | 'design' | 'documentation' | 'security'

export const FINDING_CATEGORIES = ['validity', 'design', 'documentation', 'security'] as const

/** The default cap on the findings of a document; the rest is counted. */
export const FINDINGS_MAX = 500

export interface Finding {
  /** Stable name of the rule. */
  readonly rule: string
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  readonly message: string
  /** How to fix it. */
  readonly advice: string
  /** RFC 6901 */
  readonly pointer: string
  /** Position in the original text, from 1. */
  readonly line: number
  readonly column: number
  /** Hash of rule and pointer, stable between runs. */
  readonly fingerprint: string
  /** Name of the tenant's principle that the rule enforces, or null. */
  readonly principle: string | null
}

const ORDER: Readonly<Record<FindingSeverity, number>> = { error: 0, warning: 1, info: 2 }

type Ranked = Pick<Finding, 'severity' | 'rule' | 'pointer'> & Partial<Pick<Finding, 'line' | 'column'>>

/** A finding before its position in the text is known. */
export type Spot = Omit<Finding, 'line' | 'column' | 'fingerprint' | 'principle'>

/** Orders by severity, highest first, then by rule and position; stable between runs. */
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
