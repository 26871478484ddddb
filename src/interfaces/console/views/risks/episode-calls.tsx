/** The calls of the party before and since an episode opened; those of its evidence are marked. */

import { useEffect, useRef } from 'preact/hooks'
import { HOUR_MS } from '../../../../foundation/domain/calendar.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Outcome } from '../../parts/codes.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Table, type Column } from '../../parts/table.tsx'
import { State, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import { consumerOf } from '../../../../foundation/domain/risk.ts'
import type { Timeline } from './party.ts'

type Call = Item<'/v1/requests'>

const words = texts.risks.calls
const SHOWN = '20'
/** The service keeps calls for 7 days by default. */
const KEPT_MS = 7 * 24 * HOUR_MS

export function Calls({ risk }: { readonly risk: Timeline }) {
  const { api, attributedTo, firstSeen, lastSeen, state, evidence } = risk
  const customer = consumerOf(attributedTo)
  const openedMs = Date.parse(firstSeen)
  if (openedMs < Date.now() - KEPT_MS) return <p class="quiet">{words.tooOld}</p>
  const shared = { api, customer, limit: SHOWN }
  const end = state === 'open' ? '' : new Date(Date.parse(lastSeen) + HOUR_MS).toISOString()
  const columns = toColumns(evidence.requestIds, customer === '')
  const before = new Date(openedMs - HOUR_MS).toISOString()
  return (
    <>
      <h2>{words.since}</h2>
      <p class="quiet">{customer === '' ? words.noteOfAll : words.note}</p>
      <CallTable risk={risk} title={words.since} query={{ ...shared, from: firstSeen, to: end }} columns={columns} />
      <h2>{words.before}</h2>
      <CallTable
        risk={risk}
        title={words.before}
        query={{ ...shared, from: before, to: firstSeen }}
        columns={columns}
      />
    </>
  )
}

interface CallTableProps {
  readonly risk: Timeline
  readonly title: string
  readonly query: Readonly<Record<string, string>>
  readonly columns: readonly Column<Call>[]
}

function CallTable({ title, query, columns, risk }: CallTableProps) {
  const reading = useRead('/v1/requests', { query })
  const isFirst = useRef(true)
  // A call is stored some seconds after it has ended, so the calls are read again with the episode.
  useEffect(() => {
    if (!isFirst.current) reading.reload()
    isFirst.current = false
  }, [risk])
  return (
    <Loaded reading={reading}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="quiet">{words.none}</p>
        ) : (
          <Table caption={title} columns={columns} rows={items} keyOf={({ requestId }) => requestId} />
        )
      }
    </Loaded>
  )
}

function toColumns(evidence: readonly string[], isOfAll: boolean): readonly Column<Call>[] {
  const titles = words.columns
  const who: readonly Column<Call>[] = isOfAll
    ? [{ title: titles.who, cell: ({ customer, customerName }) => <bdi>{customerName || customer || '–'}</bdi> }]
    : []
  return [
    { title: titles.time, cell: ({ time }) => <Time at={time} /> },
    {
      title: titles.outcome,
      cell: ({ outcome, status, requestId }) => (
        <>
          <Outcome of={outcome} status={status} /> {evidence.includes(requestId) && <State of={words.evidence} />}
        </>
      ),
    },
    { title: titles.operation, cell: ({ operation }) => <bdi>{operation || '–'}</bdi> },
    ...who,
    { title: titles.duration, isNumber: true, cell: ({ durationMs }) => toNumber(durationMs) },
    {
      title: titles.id,
      cell: ({ requestId }) => (
        <a href={`${BASE}requests/${encodeURIComponent(requestId)}`} aria-label={`${texts.risks.explain} ${requestId}`}>
          {texts.risks.explain}
        </a>
      ),
    },
  ]
}
