/** Design principles: list, page, and a form for a new or changed one. */

import { useState } from 'preact/hooks'
import { change, readVersion } from '../../api/client.ts'
import type { Answer, ChangeBody } from '../../api/operations.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { TextAreaField, TextField } from '../../parts/fields.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { Id, Time, toNumber } from '../../parts/values.tsx'
import { BASE, go } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

type Principle = Answer<'/v1/principles/:id'>
type PrincipleInput = Required<Pick<ChangeBody<'POST /v1/principles'>, 'name' | 'statement' | 'rationale' | 'rules'>>

const words = texts.principles
const LIST = 'governance/principles'
const NEW: PrincipleInput = { name: '', statement: '', rationale: '', rules: [] }

export function Principles({ id }: { readonly id: string }) {
  return id === '' ? <PrincipleList /> : <PrinciplePage key={id} id={id} />
}

function mayWrite(): boolean {
  return scopes.value.has('principles:write')
}

function PrincipleList() {
  const create = async (input: PrincipleInput): Promise<void> => {
    const { id } = await change('POST /v1/principles', {}, input)
    tell(words.created)
    go(`${LIST}/${encodeURIComponent(id)}`)
  }
  return (
    <Page
      title={words.title}
      actions={
        mayWrite() && (
          <DialogButton label={words.create} isMain isWide>
            {() => <PrincipleForm first={NEW} submit={words.create} onSubmit={create} />}
          </DialogButton>
        )
      }
    >
      <List
        path="/v1/principles"
        caption={words.title}
        keyOf={({ id }) => id}
        columns={[
          {
            title: words.name,
            cell: ({ id, name }) => (
              <a href={`${BASE}${LIST}/${encodeURIComponent(id)}`}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          { title: words.statement, cell: ({ statement }) => <bdi>{statement}</bdi> },
          { title: words.rules, isNumber: true, cell: ({ rules }) => toNumber(rules.length) },
          { title: words.createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        empty={{
          text: words.none,
          commands: ['tollgate principles create --name "Errors are problems" --statement … --rationale …'],
        }}
      />
    </Page>
  )
}

function PrinciplePage({ id }: { readonly id: string }) {
  const params = { id }
  const reading = useLoaded(id, async (signal) => readVersion('/v1/principles/:id', { params, signal }))
  const { data } = reading
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/principles/:id', params, undefined)
    tell(words.removed)
    go(LIST)
  }
  const save = async (input: PrincipleInput, before: PrincipleInput, etag: string): Promise<void> => {
    await change('PATCH /v1/principles/:id', params, input, { etag })
    reading.reload()
    tell(words.saved, async () => {
      await change('PATCH /v1/principles/:id', params, before)
      reading.reload()
    })
  }
  return (
    <Page
      title={data?.data.name ?? words.one}
      actions={
        mayWrite() &&
        data !== null && (
          <>
            <DialogButton label={words.edit} isWide>
              {(close) => (
                <PrincipleForm
                  first={toInput(data.data)}
                  submit={words.save}
                  onSubmit={async (input) => save(input, toInput(data.data), data.etag).then(close)}
                />
              )}
            </DialogButton>
            <ConfirmButton label={words.remove} consequence={words.consequence(data.data.name)} onConfirm={remove} />
          </>
        )
      }
    >
      <Loaded reading={reading}>{({ data: principle }) => <Shown principle={principle} />}</Loaded>
    </Page>
  )
}

function toInput({ name, statement, rationale, rules }: Principle): PrincipleInput {
  return { name, statement, rationale, rules }
}

function Shown({ principle: { id, statement, rationale, rules, createdAt } }: { readonly principle: Principle }) {
  return (
    <dl class="facts prose">
      <dt>{words.statement}</dt>
      <dd dir="auto">{statement}</dd>
      <dt>{words.rationale}</dt>
      <dd dir="auto">{rationale}</dd>
      <dt>{words.rules}</dt>
      <dd>
        {rules.length === 0 ? (
          words.noRules
        ) : (
          <ul>
            {rules.map((rule) => (
              <li key={rule}>
                <bdi>{rule}</bdi>
              </li>
            ))}
          </ul>
        )}
      </dd>
      <dt>{words.createdAt}</dt>
      <dd>
        <Time at={createdAt} /> <Id value={id} />
      </dd>
    </dl>
  )
}

interface PrincipleFormProps {
  readonly first: PrincipleInput
  readonly submit: string
  readonly onSubmit: (input: PrincipleInput) => Promise<unknown>
}

function PrincipleForm({ first, submit, onSubmit }: PrincipleFormProps) {
  const [input, setInput] = useState(first)
  const [rules, setRules] = useState(first.rules.join('\n'))
  const set = (members: Partial<PrincipleInput>): void => setInput({ ...input, ...members })
  const lines = rules.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  return (
    <Form submit={submit} onSubmit={async () => onSubmit({ ...input, rules: lines })}>
      <TextField label={words.name} value={input.name} isRequired lengthMax={128} onChange={(name) => set({ name })} />
      <TextAreaField
        label={words.statement}
        value={input.statement}
        isRequired
        onChange={(statement) => set({ statement })}
      />
      <TextAreaField
        label={words.rationale}
        value={input.rationale}
        isRequired
        onChange={(rationale) => set({ rationale })}
      />
      <TextAreaField label={words.rules} hint={words.rulesHint} value={rules} onChange={setRules} />
    </Form>
  )
}
