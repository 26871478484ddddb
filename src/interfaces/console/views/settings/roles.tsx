/** Roles: named sets of rights. Only rights that the person holds can be given. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { CheckField, TextField } from '../../parts/fields.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { BASE, go } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

type Role = Item<'/v1/roles'>

const words = texts.settings.roles
const NAME_LENGTH_MAX = 64
const DESCRIPTION_LENGTH_MAX = 256

export function Roles({ id }: { readonly id: string }) {
  return id === '' ? <All /> : <RolePage name={id} />
}

function All() {
  const reading = useRead('/v1/roles', { query: Pages.query() })
  const { columns } = words
  return (
    <Page
      title={words.title}
      actions={scopes.value.has('roles:write') ? <CreateRole onChange={reading.reload} /> : undefined}
    >
      <ListOf
        reading={reading}
        caption={words.title}
        keyOf={({ name }) => name}
        empty={{ text: words.none, commands: ['tollgate roles list'] }}
        columns={[
          {
            title: columns.name,
            cell: ({ name }) => (
              <a href={`${BASE}settings/roles/${encodeURIComponent(name)}`}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          { title: columns.description, cell: ({ description }) => <bdi>{description}</bdi> },
          { title: columns.kind, cell: ({ builtIn }) => (builtIn ? words.builtIn : words.own) },
          { title: columns.scopes, isNumber: true, cell: (role) => role.scopes.length },
        ]}
      />
    </Page>
  )
}

function RolePage({ name }: { readonly name: string }) {
  const reading = useRead('/v1/roles/:name', { params: { name } })
  return (
    <Loaded reading={reading} title={words.title}>
      {(role) => (
        <Page
          title={name}
          actions={
            scopes.value.has('roles:write') && !role.builtIn ? (
              <Actions role={role} onChange={reading.reload} />
            ) : undefined
          }
        >
          <p>
            <bdi>{role.description}</bdi>
          </p>
          <h2>{words.scopes}</h2>
          <ul>
            {role.scopes.map((scope) => (
              <li key={scope}>
                <code>{scope}</code>
              </li>
            ))}
          </ul>
        </Page>
      )}
    </Loaded>
  )
}

interface ActionsProps {
  readonly role: Role
  readonly onChange: () => void
}

function Actions({ role, onChange }: ActionsProps) {
  const { name } = role
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/roles/:name', { name }, undefined)
    notify(words.removed)
    go('settings/roles')
  }
  return (
    <>
      <DialogButton label={words.edit} isMain>
        {(close) => (
          <Fields
            submit={words.save}
            before={role}
            onSubmit={async ({ description, scopes: chosen }) => {
              await change('PUT /v1/roles/:name', { name }, { description, scopes: chosen })
              close()
              notify(words.saved)
              onChange()
            }}
          />
        )}
      </DialogButton>
      <ConfirmButton label={words.remove} consequence={<bdi>{words.removeConsequence(name)}</bdi>} onConfirm={remove} />
    </>
  )
}

function CreateRole({ onChange }: Pick<ActionsProps, 'onChange'>) {
  return (
    <DialogButton label={words.create} isMain name="create">
      {(close) => (
        <Fields
          submit={words.create}
          onSubmit={async (body) => {
            await change('POST /v1/roles', {}, body)
            close()
            notify(words.created)
            onChange()
          }}
        />
      )}
    </DialogButton>
  )
}

interface Values {
  readonly name: string
  readonly description: string
  readonly scopes: string[]
}

interface FieldsProps {
  readonly submit: string
  readonly before?: Role
  readonly onSubmit: (values: Values) => Promise<void>
}

function Fields({ submit, before, onSubmit }: FieldsProps) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState(before?.description ?? '')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(before?.scopes))
  // A right that the role has already may stay, and one that the person holds may be added.
  const offered = [...new Set([...scopes.value, ...[...scopes.value].flatMap(ownOf), ...(before?.scopes ?? [])])]
  const toggle = (scope: string, isOn: boolean): void =>
    setChosen((current) => new Set([...current].filter((each) => each !== scope).concat(isOn ? [scope] : [])))
  return (
    <Form submit={submit} onSubmit={() => onSubmit({ name: name.trim(), description, scopes: [...chosen].toSorted() })}>
      {before === undefined && (
        <TextField
          label={words.name}
          hint={words.nameHint}
          value={name}
          onChange={setName}
          isRequired
          lengthMax={NAME_LENGTH_MAX}
        />
      )}
      <TextField
        label={words.description}
        value={description}
        onChange={setDescription}
        lengthMax={DESCRIPTION_LENGTH_MAX}
      />
      <fieldset class="scopes">
        <legend>{words.scopes}</legend>
        <p class="quiet">{words.scopesHint}</p>
        {offered.toSorted().map((scope) => (
          <CheckField key={scope} label={scope} value={chosen.has(scope)} onChange={(isOn) => toggle(scope, isOn)} />
        ))}
      </fieldset>
    </Form>
  )
}

/** A holder of a right for the organisation may give it for a consumer, if the right has that width. */
function ownOf(scope: string): readonly string[] {
  const [kind = '', verb = ''] = scope.split(':')
  return (OWN[kind] ?? []).includes(verb) ? [`${scope}:own`] : []
}

const OWN: Readonly<Record<string, readonly string[]>> = {
  apis: ['read'],
  approvals: ['read'],
  credentials: ['read', 'write'],
  eventsubscriptions: ['read', 'write'],
  products: ['read'],
  requests: ['read'],
  risks: ['read'],
  subscriptions: ['read', 'write'],
  usage: ['read'],
}
