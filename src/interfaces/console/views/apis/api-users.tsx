/** Who uses an API: its subscriptions, with their calls of the last day, week and month. */

import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ListOf } from '../../parts/list.tsx'
import { Pages } from '../../parts/pages.tsx'
import type { Column } from '../../parts/table.tsx'
import { Id, State, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { hoursAgo, useCalls } from './traffic.ts'

const words = texts.apis.users

type Row = Item<'/v1/subscriptions'>

interface ApiUsersProps {
  readonly api: string
  /** Only those that may call it. */
  readonly isActive?: boolean
}

export function ApiUsers({ api, isActive = false }: ApiUsersProps) {
  const filter = { ApiId: api, ...(isActive && { state: 'Active' }) }
  const reading = useRead('/v1/subscriptions', { query: { ...filter, ...Pages.query() } })
  const day = useCalls('subscription', { api, from: hoursAgo(24) })
  const week = useCalls('subscription', { api, from: hoursAgo(7 * 24) })
  const month = useCalls('subscription', { api, from: hoursAgo(30 * 24) })
  const toColumn = (title: string, calls: typeof day): Column<Row> => ({
    title,
    isNumber: true,
    cell: ({ id }) => toCalls(calls(id)),
  })
  const traffic = [toColumn(words.day, day), toColumn(words.week, week), toColumn(words.month, month)]
  return (
    <ListOf
      reading={reading}
      caption={words.title}
      keyOf={({ id }) => id}
      empty={{ text: words.none, commands: [`tollgate subscriptions create --consumer CONSUMER --api ${api}`] }}
      columns={[
        { title: words.consumer, cell: (row) => <Consumer of={row} /> },
        { title: words.state, cell: ({ state }) => <State of={texts.subscriptions.states[state]} /> },
        { title: words.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? words.defaultTier}</bdi> },
        ...(may('usage:read') ? traffic : []),
        { title: words.contact, cell: ({ contact }) => <bdi>{contact ?? ''}</bdi> },
        { title: words.id, cell: ({ id }) => <Id value={id} /> },
      ]}
    />
  )
}

function Consumer({ of: { consumer, consumerName } }: { readonly of: Row }) {
  return (
    <a href={`${BASE}consumers/${encodeURIComponent(consumer)}`}>
      <bdi>{consumerName === '' ? consumer : consumerName}</bdi>
    </a>
  )
}

function toCalls(calls: number | null): string {
  return calls === null ? '–' : toNumber(calls)
}
