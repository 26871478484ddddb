/** Architecture decision records: list, page, and a form for a new or changed one. */

import { useState } from 'preact/hooks'
import { change, readVersion } from '../../api/client.ts'
import type { Answer, ChangeBody } from '../../api/operations.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { SelectField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { Filters, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { type FormOf, VersionedPage } from '../../parts/versioned-page.tsx'
import { BASE, go, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

type Adr = Answer<'/v1/adrs/:id'>
type AdrInput = ChangeBody<'POST /v1/adrs'>

const words = texts.adrs
const LIST = 'governance/adrs'
const STATES: readonly AdrInput['status'][] = ['Proposed', 'Accepted', 'Deprecated', 'Superseded']
const NEW: AdrInput = { title: '', status: 'Proposed', context: '', decision: '', consequences: '' }

export function Adrs({ id }: { readonly id: string }) {
  return id === '' ? <AdrList /> : <AdrPage key={id} id={id} />
}

function mayWrite(): boolean {
  return scopes.value.has('adrs:write')
}

function AdrList() {
  const create = async (input: AdrInput): Promise<void> => {
    const { id } = await change('POST /v1/adrs', {}, input)
    notify(words.created)
    go(`${LIST}/${encodeURIComponent(id)}`)
  }
  return (
    <Page
      title={words.title}
      actions={
        mayWrite() && (
          <DialogButton label={words.create} isMain isWide>
            {() => <AdrForm first={NEW} submit={words.create} onSubmit={create} />}
          </DialogButton>
        )
      }
    >
      <Filters>
        <TextFilter name="api" label={words.api} />
      </Filters>
      <List
        path="/v1/adrs"
        query={{ api: query.value.get('api') ?? '' }}
        caption={words.title}
        keyOf={({ id }) => id}
        columns={[
          {
            title: words.name,
            cell: ({ id, title }) => (
              <a href={`${BASE}${LIST}/${encodeURIComponent(id)}`}>
                <bdi>{title}</bdi>
              </a>
            ),
          },
          { title: words.status, cell: ({ status }) => <State of={status} /> },
          { title: words.api, cell: ({ api }) => api ?? '' },
          { title: words.createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        empty={{
          text: words.none,
          commands: [
            'tollgate adrs create --title "Use UUIDs" --status Accepted --context-text … --decision … --consequences …',
          ],
        }}
      />
    </Page>
  )
}

function AdrPage({ id }: { readonly id: string }) {
  const params = { id }
  const reading = useLoaded(id, async (signal) => readVersion('/v1/adrs/:id', { params, signal }))
  const patch = async (input: AdrInput, version: { readonly etag?: string }) =>
    change('PATCH /v1/adrs/:id', params, { ...input, api: input.api ?? null }, version)
  return (
    <VersionedPage
      reading={reading}
      words={words}
      list={LIST}
      mayWrite={mayWrite()}
      isWide
      nameOf={({ title }) => title}
      state={({ status }) => <State of={status} />}
      toInput={toInput}
      patch={patch}
      remove={async () => change('DELETE /v1/adrs/:id', params, undefined)}
      form={(props) => <AdrForm {...props} />}
    >
      {(adr) => <Shown adr={adr} />}
    </VersionedPage>
  )
}

function toInput({ title, status, context, decision, consequences, api }: Adr): AdrInput {
  return { title, status: status as AdrInput['status'], context, decision, consequences, ...(api !== null && { api }) }
}

function Shown({ adr: { id, context, decision, consequences, api, createdAt } }: { readonly adr: Adr }) {
  return (
    <Facts
      isProse
      of={[
        [words.context, context],
        [words.decision, decision],
        [words.consequences, consequences],
        api === null ? null : [words.api, <a href={`${BASE}apis/${encodeURIComponent(api)}`}>{api}</a>],
        [words.createdAt, <Time at={createdAt} />],
        [words.id, <Id value={id} />],
      ]}
    />
  )
}

function AdrForm({ first, submit, onSubmit }: FormOf<AdrInput>) {
  const [input, setInput] = useState(first)
  const { api = '', ...rest } = input
  const set = (members: Partial<AdrInput>): void => setInput({ ...input, ...members })
  return (
    <Form submit={submit} onSubmit={async () => onSubmit({ ...rest, ...(api.trim() !== '' && { api: api.trim() }) })}>
      <TextField
        label={words.name}
        value={input.title}
        isRequired
        lengthMax={128}
        onChange={(title) => set({ title })}
      />
      <SelectField
        label={words.status}
        value={input.status}
        options={STATES.map((each) => [each, each] as const)}
        onChange={(status) => set({ status: status as AdrInput['status'] })}
      />
      <TextAreaField label={words.context} value={input.context} isRequired onChange={(context) => set({ context })} />
      <TextAreaField
        label={words.decision}
        value={input.decision}
        isRequired
        onChange={(decision) => set({ decision })}
      />
      <TextAreaField
        label={words.consequences}
        value={input.consequences}
        isRequired
        onChange={(consequences) => set({ consequences })}
      />
      <TextField label={words.api} hint={words.apiHint} value={api} onChange={(next) => set({ api: next })} />
    </Form>
  )
}
