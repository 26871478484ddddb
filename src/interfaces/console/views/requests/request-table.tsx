/** A table of stored calls, each with a link to its explanation. */

import type { Item } from '../../api/operations.ts'
import { Outcome } from '../../parts/codes.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'

export type LoggedCall = Item<'/v1/requests'>

const words = texts.requests
const { columns } = words

const CONSUMER: Column<LoggedCall> = {
  title: columns.consumer,
  cell: ({ customer, customerName }) => <bdi>{customer === '' ? words.anonymous : customerName || customer}</bdi>,
}

export const CALL_COLUMNS: readonly Column<LoggedCall>[] = [
  {
    title: columns.id,
    cell: ({ requestId }) => (
      <a href={`${BASE}requests/${encodeURIComponent(requestId)}`}>
        <code>{requestId}</code>
      </a>
    ),
  },
  { title: columns.time, cell: ({ time }) => <Time at={time} /> },
  { title: columns.outcome, cell: ({ outcome, status }) => <Outcome of={outcome} status={status} /> },
  { title: columns.api, cell: ({ api }) => <bdi>{api}</bdi> },
  { title: columns.operation, cell: ({ operation }) => <bdi>{operation}</bdi> },
  CONSUMER,
  { title: columns.duration, isNumber: true, cell: ({ durationMs }) => words.ms(toNumber(durationMs)) },
]

interface RequestTableProps {
  readonly query: Readonly<Record<string, string>>
  /** All calls are of one consumer, which needs no column. */
  readonly isOfConsumer?: boolean
}

export function RequestTable({ query, isOfConsumer = false }: RequestTableProps) {
  return (
    <List
      path="/v1/requests"
      query={query}
      caption={words.list}
      keyOf={({ requestId }) => requestId}
      empty={{ text: words.noCalls, commands: ['tollgate requests list', 'tollgate requests tail'] }}
      columns={isOfConsumer ? CALL_COLUMNS.filter((each) => each !== CONSUMER) : CALL_COLUMNS}
    />
  )
}
