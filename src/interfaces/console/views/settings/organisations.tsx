/** The organisations (tenants) of this gateway; for the operator. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Changes, Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ActionButton, ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Once } from '../../parts/once.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

const words = texts.settings.organisations
const NAME_LENGTH_MAX = 128

export function Organisations() {
  const reading = useRead('/v1/tenants', { query: Pages.query() })
  const { columns } = words
  const isOperator = scopes.value.has('platform:admin')
  return (
    <Page title={words.title} actions={isOperator ? <Create onChange={reading.reload} /> : undefined}>
      <ListOf
        reading={reading}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate tenants list'] }}
        columns={[
          { title: columns.name, cell: ({ name }) => <bdi>{name}</bdi> },
          { title: columns.state, cell: ({ state }) => <State of={state} /> },
          { title: columns.id, cell: ({ id }) => <Id value={id} /> },
          { title: columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: columns.actions,
            cell: (tenant) => (isOperator ? <Switch tenant={tenant} onChange={reading.reload} /> : null),
          },
        ]}
      />
    </Page>
  )
}

interface ChangeProps {
  readonly onChange: () => void
}

function Switch({ tenant: { id, name, state }, onChange }: ChangeProps & { readonly tenant: Item<'/v1/tenants'> }) {
  const set = async (isOn: boolean): Promise<void> => {
    await change(isOn ? 'POST /v1/tenants/:id/enable' : 'POST /v1/tenants/:id/disable', { id }, undefined)
    notify(isOn ? words.enabled : words.disabled)
    onChange()
  }
  if (state === 'Disabled') return <ActionButton label={words.enable} onClick={() => set(true)} />
  return (
    <ConfirmButton
      label={words.disable}
      consequence={<bdi>{words.disableConsequence(name)}</bdi>}
      onConfirm={() => set(false)}
    />
  )
}

function Create({ onChange }: ChangeProps) {
  const [name, setName] = useState('')
  const [made, setMade] = useState<Changes<'POST /v1/tenants'> | null>(null)
  const done = (close: () => void): void => {
    close()
    setMade(null)
    setName('')
    onChange()
  }
  return (
    <DialogButton label={words.create} isMain name="create">
      {(close) =>
        made === null ? (
          <Form
            submit={words.create}
            onSubmit={async () => {
              setMade(await change('POST /v1/tenants', {}, { name: name.trim() }))
              notify(words.created)
            }}
          >
            <TextField label={words.name} value={name} onChange={setName} isRequired lengthMax={NAME_LENGTH_MAX} />
          </Form>
        ) : (
          <Once
            text={words.credentialOnce}
            secrets={[
              [words.clientId, made.credential.clientId],
              [words.clientSecret, made.credential.clientSecret],
            ]}
            done={words.stored}
            onDone={() => done(close)}
          />
        )
      }
    </DialogButton>
  )
}
