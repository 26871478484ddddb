/** People who may sign in: `settings/people` and `settings/people/{id}`. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Changes } from '../../api/operations.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { State, Time } from '../../parts/values.tsx'
import { BASE, go } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { OneTimeLink } from './one-time-link.tsx'
import { PersonPage } from './person.tsx'
import { AssignmentFields, toAssignments, type Assignment } from './role-assignments.tsx'

const words = texts.settings.people
const NAME_LENGTH_MAX = 128

export function People({ id }: { readonly id: string }) {
  return id === '' ? <All /> : <PersonPage id={id} />
}

function All() {
  const { columns } = words
  return (
    <Page title={words.title} actions={scopes.value.has('users:write') ? <Invite /> : undefined}>
      <List
        path="/v1/users"
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate users create --username ada --name "Ada Lovelace"'] }}
        columns={[
          {
            title: columns.username,
            cell: ({ id, username }) => (
              <a href={`${BASE}settings/people/${encodeURIComponent(id)}`}>
                <bdi>{username}</bdi>
              </a>
            ),
          },
          { title: columns.name, cell: ({ name }) => <bdi>{name}</bdi> },
          { title: columns.state, cell: ({ state }) => <State of={state} /> },
          { title: columns.roles, cell: ({ roles }) => <bdi>{roles.map(({ role }) => role).join(', ')}</bdi> },
          { title: columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Page>
  )
}

type Invited = Changes<'POST /v1/users'>

function Invite() {
  const [username, setUsername] = useState('')
  const [name, setName] = useState('')
  const [assigned, setAssigned] = useState<readonly Assignment[]>([])
  const [made, setMade] = useState<Invited | null>(null)
  const invite = async (): Promise<void> => {
    const body = { username: username.trim(), name: name.trim(), roles: toAssignments(assigned) }
    setMade(await change('POST /v1/users', {}, body))
  }
  return (
    <DialogButton label={words.create} isMain name="create">
      {() =>
        made === null ? (
          <Form submit={words.create} onSubmit={invite}>
            <TextField
              label={words.username}
              value={username}
              onChange={setUsername}
              isRequired
              lengthMax={NAME_LENGTH_MAX}
            />
            <TextField label={words.name} value={name} onChange={setName} isRequired lengthMax={NAME_LENGTH_MAX} />
            {may('roles:read') && <AssignmentFields value={assigned} onChange={setAssigned} />}
          </Form>
        ) : (
          <OneTimeLink of={made} onDone={() => go(`settings/people/${encodeURIComponent(made.id)}`)} />
        )
      }
    </DialogButton>
  )
}
