/** The own account: name, password, second factor and sessions. */

import { useState } from 'preact/hooks'
import { change, isSignedIn } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { SecondFactor } from './second-factor.tsx'
import { MySessions } from './sessions.tsx'

type Account = Answer<'/v1/me'>

const words = texts.settings.me
const NAME_LENGTH_MAX = 128
const PASSWORD_LENGTH_MAX = 256

export function MyAccount() {
  const reading = useRead('/v1/me')
  return (
    <Loaded reading={reading} title={words.title}>
      {(account) => (
        <Page
          title={words.title}
          actions={scopes.value.has('me:write') ? <Actions account={account} onChange={reading.reload} /> : undefined}
        >
          <dl class="facts">
            <dt>{words.name}</dt>
            <dd>
              <bdi>{account.name}</bdi>
            </dd>
            <dt>{words.username}</dt>
            <dd>
              <bdi>{account.username}</bdi>
            </dd>
            <dt>{words.roles}</dt>
            <dd>
              <bdi>{account.roles.map(({ role }) => role).join(', ')}</bdi>
            </dd>
            <dt>{words.secondFactor}</dt>
            <dd>{words.factors[account.secondFactor]}</dd>
          </dl>
          <MySessions />
        </Page>
      )}
    </Loaded>
  )
}

interface ActionsProps {
  readonly account: Account
  readonly onChange: () => void
}

function Actions({ account, onChange }: ActionsProps) {
  return (
    <>
      <Rename account={account} onChange={onChange} />
      {account.identityProvider === null && (
        <>
          <ChangePassword />
          <SecondFactor isOn={account.secondFactor === 'totp'} onChange={onChange} />
        </>
      )}
    </>
  )
}

function Rename({ account, onChange }: ActionsProps) {
  const [name, setName] = useState(account.name)
  return (
    <DialogButton label={words.rename}>
      {(close) => (
        <Form
          submit={words.rename}
          onSubmit={async () => {
            await change('PATCH /v1/me', {}, { name: name.trim() })
            close()
            notify(words.renamed)
            onChange()
          }}
        >
          <TextField label={words.name} value={name} onChange={setName} isRequired lengthMax={NAME_LENGTH_MAX} />
        </Form>
      )}
    </DialogButton>
  )
}

/** The tokens of this session end with the old password. */
function ChangePassword() {
  const [oldPassword, setOld] = useState('')
  const [newPassword, setNew] = useState('')
  return (
    <DialogButton label={words.password}>
      {() => (
        <Form
          submit={words.password}
          onSubmit={async () => {
            await change('PUT /v1/me/password', {}, { oldPassword, newPassword })
            isSignedIn.value = false
          }}
        >
          <TextField label={words.oldPassword} type="password" value={oldPassword} onChange={setOld} isRequired />
          <TextField
            label={words.newPassword}
            hint={words.passwordHint}
            type="password"
            value={newPassword}
            onChange={setNew}
            isRequired
            lengthMax={PASSWORD_LENGTH_MAX}
          />
        </Form>
      )}
    </DialogButton>
  )
}
