/** The consumers of the organisation, with filters that the service applies. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { fromLines, LabelsField } from '../../parts/labels.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { BASE, go, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

const words = texts.consumers
const { columns } = words
export type Kind = 'application' | 'agent'
export type Exposure = 'Internal' | 'Partner' | 'Public'

export function ConsumerList() {
  const asked = (name: string): string => query.value.get(name) ?? ''
  return (
    <Page title={words.title} actions={scopes.value.has('consumers:write') && <CreateConsumer />}>
      <Filters>
        <TextFilter name="name" label={words.search} />
        <SelectFilter name="kind" label={columns.kind} options={[['', words.all], ...Object.entries(words.kinds)]} />
        <SelectFilter name="state" label={columns.state} options={[['', words.all], ...Object.entries(words.states)]} />
      </Filters>
      <List
        path="/v1/consumers"
        query={{ name: asked('name'), kind: asked('kind'), state: asked('state') }}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate consumers create --name "Mobile app" --kind application'] }}
        columns={[
          {
            title: columns.name,
            cell: ({ id, name }) => (
              <a href={`${BASE}consumers/${encodeURIComponent(id)}`}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          { title: columns.kind, cell: ({ kind }) => words.kinds[kind] },
          { title: columns.state, cell: ({ state }) => <State of={words.states[state]} /> },
          { title: columns.exposure, cell: ({ exposure }) => words.exposures[exposure] },
          { title: columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: columns.id, cell: ({ id }) => <Id value={id} /> },
        ]}
      />
    </Page>
  )
}

function CreateConsumer() {
  return (
    <DialogButton name="create" label={words.create} isMain>
      {(close) => <CreateForm onCreated={close} />}
    </DialogButton>
  )
}

function CreateForm({ onCreated }: { readonly onCreated: () => void }) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<string>('application')
  const [contact, setContact] = useState('')
  const [exposure, setExposure] = useState<string>('Public')
  const [labels, setLabels] = useState('')
  const create = async (): Promise<void> => {
    const { id } = await change(
      'POST /v1/consumers',
      {},
      {
        name,
        kind: kind as Kind,
        exposure: exposure as Exposure,
        labels: fromLines(labels),
        ...(contact !== '' && { contact }),
      },
    )
    onCreated()
    notify(words.created(name))
    go(`consumers/${encodeURIComponent(id)}`)
  }
  return (
    <Form submit={words.create} onSubmit={create}>
      <TextField label={columns.name} value={name} onChange={setName} isRequired lengthMax={128} />
      <SelectField label={columns.kind} value={kind} onChange={setKind} options={Object.entries(words.kinds)} />
      <TextField label={words.contact} value={contact} onChange={setContact} lengthMax={256} />
      <SelectField
        label={columns.exposure}
        hint={words.exposureHint}
        value={exposure}
        onChange={setExposure}
        options={Object.entries(words.exposures)}
      />
      <LabelsField value={labels} onChange={setLabels} />
    </Form>
  )
}
