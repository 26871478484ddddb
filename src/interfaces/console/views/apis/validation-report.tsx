/** Result of the check of a document: score, findings at their lines, and changes for callers. */

import type { Changes } from '../../api/operations.ts'
import { Severity, toNumber } from '../../parts/values.tsx'
import { Table } from '../../parts/table.tsx'
import { texts } from '../../texts.ts'
import { ChangeTable } from './change-table.tsx'

const words = texts.apis.publish
const LEVELS = { error: 'Critical', warning: 'Warning', info: 'Info' } as const
const SHOWN_MAX = 100

interface ReportProps {
  readonly report: Changes<'POST /v1/programmes/validate'>
  readonly isCompared: boolean
  /** Shows a line in the editor. */
  readonly onLine: (line: number) => void
}

export function Report({ report: { score, findings, changes, compliance }, isCompared, onLine }: ReportProps) {
  return (
    <section aria-label={words.result}>
      <p role="status">
        {words.score(toNumber(score))} {compliance.servable ? '' : words.notServable}
      </p>
      {findings.length > 0 && (
        <Table
          caption={words.findings}
          keyOf={({ fingerprint }) => fingerprint}
          rows={findings.slice(0, SHOWN_MAX)}
          columns={[
            {
              title: words.columns.line,
              cell: ({ line }) => (
                <button type="button" class="id" onClick={() => onLine(line)}>
                  {words.line(line)}
                </button>
              ),
            },
            {
              title: words.columns.severity,
              cell: ({ severity }) => <Severity of={LEVELS[severity]} word={words.severities[severity]} />,
            },
            { title: words.columns.message, cell: ({ message }) => <bdi class="text">{message}</bdi> },
            { title: words.columns.advice, cell: ({ advice }) => <bdi class="text">{advice}</bdi> },
          ]}
        />
      )}
      {findings.length > SHOWN_MAX && <p class="quiet">{texts.apis.compare.more(findings.length - SHOWN_MAX)}</p>}
      {isCompared && <ChangeTable changes={changes} />}
    </section>
  )
}
