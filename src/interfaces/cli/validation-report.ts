/** Converts the answer of the service to the report from which SARIF and JUnit are written. */

import type { Report, ReportFinding } from './report/report.ts'
import type { ValidationResult } from './validation-result.ts'

const SEVERITY_OF = { breaking: 'error', warning: 'warning', info: 'info' } as const

/** Only a low score and breaking changes fail: the tenant's policy, not the build, judges single findings. */
export function toValidationReport(result: ValidationResult, file: string, minimum: number): Report {
  const { score, findings, changes } = result
  const common = { previousPlace: null, operations: [], state: 'new', reason: null } as const
  const shown: readonly ReportFinding[] = [
    ...changes.map(({ id, level, pointer, message, line = 1, column = 1, file: at = file }) => ({
      ...common,
      rule: id,
      severity: SEVERITY_OF[level],
      message,
      advice: '',
      pointer,
      place: { file: at, line, column },
      fingerprint: `${id} ${pointer}`,
      isFailure: level === 'breaking',
    })),
    ...findings.map(({ rule, severity, message, advice, pointer, line, column, file: at = file }) => ({
      ...common,
      rule,
      severity,
      message,
      advice,
      pointer,
      place: { file: at, line, column },
      fingerprint: `${rule} ${pointer}`,
      isFailure: false,
    })),
  ]
  const { coverage } = result.compliance
  const document = { file, score: { value: score, counted: score, minimum, coverage }, findings: shown, notes: [] }
  return { command: 'validate', documents: [document], troubles: [], notes: [] }
}
