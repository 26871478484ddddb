/** What the platform answers of a document, as far as the command line shows it. */

export interface ShownFinding {
  readonly rule: string
  readonly category: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  readonly advice: string
  readonly pointer: string
  readonly line: number
  readonly column: number
}

export interface ShownChange {
  readonly id: string
  readonly level: 'breaking' | 'warning' | 'info'
  readonly pointer: string
  readonly message: string
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
  readonly recommendations: readonly { readonly advice: string; readonly count: number; readonly gain: number }[]
}

/** What is wrong and what to do, where that is not the same. */
export function sentencesOf({ message, advice }: Pick<ShownFinding, 'message' | 'advice'>): string {
  return message === advice ? message : `${message} ${advice}`
}

/** Whether a build may go on. */
export function isGood({ score, breakingChanges }: ValidationResult, minScore: number): boolean {
  return score >= minScore && !breakingChanges.some(({ level }) => level === 'breaking')
}
