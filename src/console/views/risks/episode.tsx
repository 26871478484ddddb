/** One risk episode: who, what and when, with its calls. */

import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Id, Severity, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import { toWho } from '../../parts/attribution.tsx'

type Timeline = Answer<'/v1/risks/:riskId'>

const words = texts.risks

export function Episode({ riskId }: { readonly riskId: string }) {
  const reading = useRead('/v1/risks/:riskId', { params: { riskId } })
  return <Loaded reading={reading}>{(risk) => <Facts risk={risk} />}</Loaded>
}

function Facts({ risk }: { readonly risk: Timeline }) {
  const { type, severity, api, message, evidence, timeline, state } = risk
  return (
    <>
      <h1>
        {type} <Severity of={severity} /> <span class="state">{state}</span>
      </h1>
      <dl class="facts">
        <dt>{words.message}</dt>
        <dd>{message}</dd>
        <dt>{words.columns.who}</dt>
        <dd>{toWho(risk)}</dd>
        <dt>{words.columns.api}</dt>
        <dd>
          <code>{api}</code>
        </dd>
        <dt>{words.reasons}</dt>
        <dd>{toCounts(evidence.reasons)}</dd>
        <dt>{words.operations}</dt>
        <dd>{toCounts(evidence.operations)}</dd>
        <dt>{words.statuses}</dt>
        <dd>{toCounts(evidence.statuses)}</dd>
        <dt>{words.requests}</dt>
        <dd>
          {evidence.requestIds.map((id) => (
            <span key={id}>
              <Id value={id} />{' '}
              <a href={`${BASE}requests/${encodeURIComponent(id)}`} aria-label={`${words.explain} ${id}`}>
                {words.explain}
              </a>{' '}
            </span>
          ))}
        </dd>
      </dl>
      <h2>{words.timeline}</h2>
      <Table
        caption={words.timeline}
        keyOf={({ id }) => id}
        rows={timeline}
        columns={[
          { title: words.columns.last, cell: ({ time }) => <Time at={time} /> },
          { title: words.columns.severity, cell: ({ severity: each }) => <Severity of={each} /> },
          { title: words.columns.count, isNumber: true, cell: ({ count }) => toNumber(count) },
          { title: words.message, cell: ({ message: text }) => text },
        ]}
      />
    </>
  )
}

function toCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name}: ${toNumber(count)}`)
    .join(', ')
}
