/** Architecture decision records: list, page, and a form for a new or changed one. */

import { useState } from 'preact/hooks'
import { change, readVersion } from '../../api/client.ts'
import type { Answer, ChangeBody } from '../../api/operations.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { Filters, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
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
    tell(words.created)
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
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/adrs/:id', params, undefined)
    tell(words.removed)
    go(LIST)
  }
  const { data } = reading
  const save = async (input: AdrInput, before: Adr, etag: string): Promise<void> => {
    await change('PATCH /v1/adrs/:id', params, { ...input, api: input.api ?? null }, { etag })
    reading.reload()
    tell(words.saved, async () => {
      const { title, status, context, decision, consequences, api } = before
      const earlier = { title, status: status as AdrInput['status'], context, decision, consequences, api }
      await change('PATCH /v1/adrs/:id', params, earlier)
      reading.reload()
    })
  }
  return (
    <Page
      title={data?.data.title ?? words.one}
      state={data !== null && <State of={data.data.status} />}
      actions={
        mayWrite() &&
        data !== null && (
          <>
            <DialogButton label={words.edit} isWide>
              {(close) => (
                <AdrForm
                  first={toInput(data.data)}
                  submit={words.save}
                  onSubmit={async (input) => save(input, data.data, data.etag).then(close)}
                />
              )}
            </DialogButton>
            <ConfirmButton label={words.remove} consequence={words.consequence(data.data.title)} onConfirm={remove} />
          </>
        )
      }
    >
      <Loaded reading={reading}>{({ data: adr }) => <Shown adr={adr} />}</Loaded>
    </Page>
  )
}

function toInput({ title, status, context, decision, consequences, api }: Adr): AdrInput {
  return { title, status: status as AdrInput['status'], context, decision, consequences, ...(api !== null && { api }) }
}

function Shown({ adr: { id, context, decision, consequences, api, createdAt } }: { readonly adr: Adr }) {
  return (
    <dl class="facts prose">
      <dt>{words.context}</dt>
      <dd dir="auto">{context}</dd>
      <dt>{words.decision}</dt>
      <dd dir="auto">{decision}</dd>
      <dt>{words.consequences}</dt>
      <dd dir="auto">{consequences}</dd>
      {api !== null && (
        <>
          <dt>{words.api}</dt>
          <dd>
            <a href={`${BASE}apis/${encodeURIComponent(api)}`}>{api}</a>
          </dd>
        </>
      )}
      <dt>{words.createdAt}</dt>
      <dd>
        <Time at={createdAt} /> <Id value={id} />
      </dd>
    </dl>
  )
}

interface AdrFormProps {
  readonly first: AdrInput
  readonly submit: string
  readonly onSubmit: (input: AdrInput) => Promise<unknown>
}

function AdrForm({ first, submit, onSubmit }: AdrFormProps) {
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
