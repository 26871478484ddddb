/** Design principles: list, page, and a form for a new or changed one. */

import { useState } from 'preact/hooks'
import { change, readVersion } from '../../api/client.ts'
import type { Answer, ChangeBody } from '../../api/operations.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { TextAreaField, TextField } from '../../parts/fields.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, Time, toNumber } from '../../parts/values.tsx'
import { type FormOf, VersionedPage } from '../../parts/versioned-page.tsx'
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
    notify(words.created)
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
  return (
    <VersionedPage
      reading={reading}
      words={words}
      list={LIST}
      mayWrite={mayWrite()}
      isWide
      nameOf={({ name }) => name}
      toInput={toInput}
      patch={async (input, version) => change('PATCH /v1/principles/:id', params, input, version)}
      remove={async () => change('DELETE /v1/principles/:id', params, undefined)}
      form={(props) => <PrincipleForm {...props} />}
    >
      {(principle) => <Shown principle={principle} />}
    </VersionedPage>
  )
}

function toInput({ name, statement, rationale, rules }: Principle): PrincipleInput {
  return { name, statement, rationale, rules }
}

function Shown({ principle: { id, statement, rationale, rules, createdAt } }: { readonly principle: Principle }) {
  return (
    <Facts
      isProse
      of={[
        [words.statement, statement],
        [words.rationale, rationale],
        [words.rules, rules.length === 0 ? words.noRules : <Rules of={rules} />],
        [words.createdAt, <Time at={createdAt} />],
        [words.id, <Id value={id} />],
      ]}
    />
  )
}

function Rules({ of }: { readonly of: readonly string[] }) {
  return (
    <ul>
      {of.map((rule) => (
        <li key={rule}>
          <bdi>{rule}</bdi>
        </li>
      ))}
    </ul>
  )
}

function PrincipleForm({ first, submit, onSubmit }: FormOf<PrincipleInput>) {
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
