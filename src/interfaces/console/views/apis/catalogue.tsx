/** The catalogue: every API of the organisation, with its score and its traffic. */

import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { State, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { lastDay, useCalls } from './traffic.ts'

const { columns, title, none, noneInState, states, publish, filters } = texts.apis
/** Totals over all APIs leave it out. */
const PLATFORM = 'platform-v1'
const PUBLISH = ['tollgate proxies deploy openapi.yaml --backend http://10.0.0.7:3000 --activate']

export function Catalogue() {
  const state = query.value.get('state') ?? ''
  const name = (query.value.get('name') ?? '').toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')
  const reading = useRead('/v1/apis', { query: { state, id: name, ...Pages.query() } })
  const calls = useCalls('api', { from: lastDay() })
  return (
    <Page title={title} actions={may('proxies:write') && <PublishLink />}>
      <Filters>
        <TextFilter name="name" label={filters.name} />
        <SelectFilter name="state" label={filters.state} options={[['', filters.all], ...Object.entries(states)]} />
      </Filters>
      <ListOf
        reading={reading}
        caption={title}
        keyOf={({ id }) => id}
        empty={state === '' && name === '' ? { text: none, commands: PUBLISH } : { text: noneInState }}
        columns={[
          { title: columns.name, cell: ({ id }) => <a href={`${BASE}apis/${encodeURIComponent(id)}`}>{id}</a> },
          { title: columns.title, cell: (row) => <bdi>{row.title}</bdi> },
          { title: columns.version, cell: ({ version }) => <bdi>{version}</bdi> },
          { title: columns.state, cell: (row) => <State of={row.state} /> },
          { title: columns.score, isNumber: true, cell: toScore },
          ...(may('usage:read')
            ? [
                {
                  title: columns.traffic,
                  isNumber: true,
                  cell: ({ id }: Item<'/v1/apis'>) => <Calls of={id === PLATFORM ? null : calls(id)} api={id} />,
                },
              ]
            : []),
        ]}
      />
    </Page>
  )
}

function PublishLink() {
  return (
    <a class="button main" href={`${BASE}apis/new`}>
      {publish.title}
    </a>
  )
}

function toScore({ complianceScore }: Item<'/v1/apis'>): string {
  return complianceScore === null ? '–' : toNumber(complianceScore)
}

interface CallsProps {
  /** Null: read it. */
  readonly of: number | null
  readonly api: string
}

function Calls({ of, api }: CallsProps) {
  const path = of === null ? '/v1/summaries' : null
  const reading = useRead(path, { query: { api, groupBy: 'api', from: lastDay() } })
  const found = of ?? reading.data?.items.reduce((sum, { calls }) => sum + calls, 0)
  return <>{found === undefined ? '' : toNumber(found)}</>
}
