/** The fields of a validation response that the command line shows. */

export interface ShownFinding {
  readonly rule: string
  readonly category: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  readonly advice: string
  readonly pointer: string
  readonly line: number
  readonly column: number
  /** Set by the command line if the place is in another file than the document. */
  readonly file?: string
}

export interface ShownChange {
  readonly id: string
  readonly level: 'breaking' | 'warning' | 'info'
  readonly pointer: string
  readonly message: string
  readonly line?: number
  readonly column?: number
  readonly file?: string
}

export interface ValidationResult {
  readonly score: number
  readonly findings: readonly ShownFinding[]
  readonly compliance: {
    readonly band: string
    readonly categories: Readonly<Record<string, number>>
    readonly omitted: number
    readonly coverage: {
      readonly operations: number
      readonly of: number
      readonly failed: readonly { readonly rule: string; readonly detail: string }[]
    } | null
  }
  readonly breakingChanges: readonly ShownChange[]
  readonly changes: readonly ShownChange[]
  readonly recommendations: readonly { readonly advice: string; readonly count: number; readonly gain: number }[]
}

/** Whether the build passes. */
export function isGood(result: ValidationResult, minScore: number): boolean {
  return reasonsAgainst(result, minScore).length === 0
}

/** Reasons why the build fails; empty if it passes. */
export function reasonsAgainst({ score, breakingChanges }: ValidationResult, minScore: number): readonly string[] {
  const breaking = breakingChanges.filter(({ level }) => level === 'breaking').length
  return [
    ...(score < minScore ? [`the score is below ${minScore}`] : []),
    ...(breaking > 0
      ? [`${breaking} breaking ${breaking === 1 ? 'change' : 'changes'} since the previous version`]
      : []),
  ]
}
