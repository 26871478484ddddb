/** A report whose texts try to break out of every format. */

import type { Report, ReportFinding } from '../../../../../src/interfaces/cli/report/report.ts'

export const HOSTILE = `]]><script>alert(1)</script>&"'|\`**b**\`@team %0A::error::x\r\n::error file=a::b\u0000\u001b[31m\u202e`

export const finding: ReportFinding = {
  rule: `rule,${HOSTILE}`,
  severity: 'error',
  message: HOSTILE,
  advice: 'Fix it.',
  pointer: `/paths/${HOSTILE}`,
  place: { file: `a ${HOSTILE}.yaml`, line: 3, column: 7 },
  previousPlace: { file: 'git:main:b c.yaml', line: 9, column: 1 },
  operations: [`GET /${HOSTILE}`, `PUT /${HOSTILE}`],
  fingerprint: 'f00',
  state: 'new',
  reason: null,
  isFailure: true,
}

export const hostileReport: Report = {
  command: 'lint',
  documents: [
    {
      file: `a ${HOSTILE}.yaml`,
      score: { value: 79.96, counted: 90, minimum: 95, coverage: { operations: 3, of: 9 } },
      findings: [
        finding,
        { ...finding, severity: 'warning', isFailure: false },
        { ...finding, severity: 'info', state: 'ignored', reason: HOSTILE, isFailure: false },
        { ...finding, state: 'known', isFailure: false },
        { ...finding, state: 'allowed', reason: HOSTILE, isFailure: false },
      ],
      notes: [HOSTILE],
    },
  ],
  troubles: [{ file: HOSTILE, message: HOSTILE }],
  notes: [HOSTILE],
}

/** Reports with each exit code. */
export function reportOf(kind: 'good' | 'failing finding' | 'low score' | 'trouble'): Report {
  const score = { value: 80, counted: 80, minimum: kind === 'low score' ? 90 : 80, coverage: null }
  const findings = [{ ...finding, isFailure: kind === 'failing finding' }]
  const troubles = kind === 'trouble' ? [{ file: 'b.yaml', message: 'b.yaml is empty.' }] : []
  return { command: 'lint', documents: [{ file: 'a.yaml', score, findings, notes: [] }], troubles, notes: [] }
}
