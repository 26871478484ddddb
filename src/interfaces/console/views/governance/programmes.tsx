/** Programmes: each takes a document through eight steps to a running API. */

import { List } from '../../parts/list.tsx'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { State, Time, toNumber } from '../../parts/values.tsx'
import { useRead } from '../../api/use-read.ts'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { ProgrammeView } from './programme.tsx'
import { NewProgramme } from './programme-version.tsx'

const words = texts.programmes
const LIST = `${BASE}governance/programmes`
const STATES = [
  ['', words.all],
  ['running', words.states.running],
  ['waiting', words.states.waiting],
  ['failed', words.states.failed],
  ['succeeded', words.states.succeeded],
] as const

export function Programmes({ id }: { readonly id: string }) {
  if (id === 'new' && scopes.value.has('programmes:write')) {
    return (
      <Page title={words.createTitle}>
        <NewProgramme />
      </Page>
    )
  }
  return id === '' ? <ProgrammeList /> : <ProgrammePage id={id} />
}

function ProgrammeList() {
  const filters = { status: query.value.get('status') ?? '', api: query.value.get('api') ?? '' }
  return (
    <Page
      title={words.title}
      actions={
        scopes.value.has('programmes:write') && (
          <a class="button main" href={`${LIST}/new`}>
            {words.create}
          </a>
        )
      }
    >
      <Filters>
        <SelectFilter name="status" label={words.columns.state} options={STATES} />
        <TextFilter name="api" label={words.columns.api} />
      </Filters>
      <List
        path="/v1/programmes"
        query={filters}
        caption={words.title}
        keyOf={({ id }) => id}
        columns={[
          {
            title: words.columns.name,
            cell: ({ id, name }) => (
              <a href={`${LIST}/${encodeURIComponent(id)}`}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          { title: words.columns.state, cell: ({ status }) => <State of={words.states[status]} /> },
          { title: words.columns.api, cell: ({ api }) => api ?? '' },
          {
            title: words.columns.score,
            isNumber: true,
            cell: ({ score }) => (score === null ? words.noScore : toNumber(score)),
          },
          { title: words.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        empty={{
          text: words.none,
          commands: ['tollgate programmes submit --name Orders --specification openapi.yaml'],
        }}
      />
    </Page>
  )
}

function ProgrammePage({ id }: { readonly id: string }) {
  const { data } = useRead('/v1/programmes/:id', { params: { id } })
  return (
    <Page title={data?.name ?? words.one}>
      <ProgrammeView key={id} id={id} />
    </Page>
  )
}
