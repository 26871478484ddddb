/** One person: roles, sessions, and what ends their access. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Answer, Changes } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ActionButton, ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { CheckField } from '../../parts/fields.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { go } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { OneTimeLink } from './one-time-link.tsx'
import { AssignmentFields, fromAssignments, toAssignments } from './role-assignments.tsx'
import { Sessions } from './sessions.tsx'

type Person = Answer<'/v1/users/:id'>
type Linked = Changes<'POST /v1/users/:id/invite'>

const words = texts.settings.people

export function PersonPage({ id }: { readonly id: string }) {
  const reading = useRead('/v1/users/:id', { params: { id } })
  return (
    <Loaded reading={reading} title={words.title}>
      {(person) => (
        <Page
          title={person.name}
          state={<State of={person.state} />}
          actions={scopes.value.has('users:write') ? <Actions person={person} onChange={reading.reload} /> : undefined}
        >
          <Facts person={person} />
          <Sessions of={id} name={person.name} />
        </Page>
      )}
    </Loaded>
  )
}

function Facts({ person: { id, username, roles, identityProvider, createdAt } }: { readonly person: Person }) {
  return (
    <dl class="facts">
      <dt>{words.username}</dt>
      <dd>
        <bdi>{username}</bdi> <Id value={id} />
      </dd>
      <dt>{words.roles}</dt>
      {roles.map(({ role, consumers = [] }) => (
        <dd key={role}>
          <bdi>{role}</bdi>{' '}
          {consumers.map((each) => (
            <Id key={each} value={each} />
          ))}
        </dd>
      ))}
      <dt>{words.provider}</dt>
      <dd>{identityProvider === null ? words.password : <Id value={identityProvider} />}</dd>
      <dt>{words.columns.created}</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
  )
}

interface ActionsProps {
  readonly person: Person
  readonly onChange: () => void
}

function Actions({ person, onChange }: ActionsProps) {
  const { id, name, state, identityProvider } = person
  const isDisabled = state === 'Disabled'
  const set = async (isOn: boolean): Promise<void> => {
    await change(isOn ? 'POST /v1/users/:id/enable' : 'POST /v1/users/:id/disable', { id }, undefined)
    onChange()
  }
  const toggle = async (): Promise<void> => {
    await set(isDisabled)
    notify(isDisabled ? words.enabled : words.disabled, () => set(!isDisabled))
  }
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/users/:id', { id }, undefined)
    notify(words.removed)
    go('settings/people')
  }
  return (
    <>
      {identityProvider === null && may('roles:read') && <EditRoles person={person} onChange={onChange} />}
      <ActionButton label={isDisabled ? words.enable : words.disable} onClick={toggle} />
      {identityProvider === null && <NewLink person={person} onChange={onChange} />}
      <ConfirmButton label={words.remove} consequence={<bdi>{words.removeConsequence(name)}</bdi>} onConfirm={remove} />
    </>
  )
}

function EditRoles({ person: { id, roles }, onChange }: ActionsProps) {
  const [value, setValue] = useState(fromAssignments(roles))
  return (
    <DialogButton label={words.editRoles} isMain>
      {(close) => (
        <Form
          submit={words.saveRoles}
          onSubmit={async () => {
            await change('PATCH /v1/users/:id', { id }, { roles: toAssignments(value) })
            close()
            notify(words.rolesSaved)
            onChange()
          }}
        >
          <AssignmentFields value={value} onChange={setValue} />
        </Form>
      )}
    </DialogButton>
  )
}

/** A person without a password gets a new link; of another, the password is removed. */
function NewLink({ person: { id, name, state }, onChange }: ActionsProps) {
  const [made, setMade] = useState<Linked | null>(null)
  const [removeSecondFactor, setRemove] = useState(false)
  const isPending = state === 'Pending'
  const label = isPending ? words.invite : words.reset
  const make = async (): Promise<void> => {
    setMade(
      isPending
        ? await change('POST /v1/users/:id/invite', { id }, undefined)
        : await change('POST /v1/users/:id/resetPassword', { id }, { removeSecondFactor }),
    )
  }
  const done = (close: () => void): void => {
    close()
    setMade(null)
    onChange()
  }
  return (
    <DialogButton label={label} isDangerous={!isPending}>
      {(close) =>
        made === null ? (
          <Form submit={label} onSubmit={make} isDangerous={!isPending}>
            {!isPending && (
              <>
                <p>
                  <bdi>{words.resetConsequence(name)}</bdi>
                </p>
                <CheckField label={words.resetFactor} value={removeSecondFactor} onChange={setRemove} />
              </>
            )}
          </Form>
        ) : (
          <OneTimeLink of={made} onDone={() => done(close)} />
        )
      }
    </DialogButton>
  )
}
