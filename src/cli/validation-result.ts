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
  }
  readonly breakingChanges: readonly ShownChange[]
  readonly recommendations: readonly { readonly advice: string; readonly count: number; readonly gain: number }[]
}

/** Whether a build may go on. */
export function isGood({ score, breakingChanges }: ValidationResult, minScore: number): boolean {
  return score >= minScore && !breakingChanges.some(({ level }) => level === 'breaking')
}
