/** The second factor of the own account: set up with an app, and removed with a code. */

import { useState } from 'preact/hooks'
import { change, request, toUrl } from '../../api/client.ts'
import type { Changes } from '../../api/operations.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Once } from '../../parts/once.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

type Setup = Changes<'POST /v1/me/totp'>

const words = texts.settings.me
const CODE_LENGTH_MAX = 32

interface SecondFactorProps {
  readonly isOn: boolean
  readonly onChange: () => void
}

export function SecondFactor({ isOn, onChange }: SecondFactorProps) {
  return isOn ? <Remove onChange={onChange} /> : <SetUp onChange={onChange} />
}

type ChangeProps = Pick<SecondFactorProps, 'onChange'>

function SetUp({ onChange }: ChangeProps) {
  const [setup, setSetup] = useState<Setup | null>(null)
  const [code, setCode] = useState('')
  const isDone = setup?.recoveryCodes !== undefined
  const step = async (): Promise<void> => {
    setSetup(await change('POST /v1/me/totp', {}, setup === null ? {} : { code: code.trim() }))
  }
  const done = (close: () => void): void => {
    close()
    setSetup(null)
    onChange()
  }
  return (
    <DialogButton label={words.setUp}>
      {(close) =>
        isDone ? (
          <Once
            text={words.recoveryOnce}
            secrets={[[words.recovery, (setup.recoveryCodes ?? []).join(' ')]]}
            done={words.stored}
            onDone={() => done(close)}
          />
        ) : (
          <Form submit={setup === null ? words.setUp : words.confirm} onSubmit={step}>
            <p>{words.setUpLead}</p>
            {setup !== null && (
              <>
                <dl class="facts">
                  <dt>{words.secret}</dt>
                  <dd>
                    <code>{setup.secret}</code> <Id value={setup.secret ?? ''} shown={texts.units.copy} />
                  </dd>
                  <dt>{words.address}</dt>
                  <dd>
                    <Id value={setup.uri ?? ''} />
                  </dd>
                </dl>
                <TextField label={words.code} value={code} onChange={setCode} isRequired lengthMax={6} />
              </>
            )}
          </Form>
        )
      }
    </DialogButton>
  )
}

function Remove({ onChange }: ChangeProps) {
  const [code, setCode] = useState('')
  const remove = async (): Promise<void> => {
    // The code travels in a header, which no log and no script of a view has.
    await request(toUrl('/v1/me/totp', {}), { method: 'DELETE', headers: { 'x-second-factor': code.trim() } })
    notify(words.factorRemoved)
    onChange()
  }
  return (
    <DialogButton label={words.removeFactor} isDangerous>
      {(close) => (
        <Form submit={words.removeFactor} isDangerous onSubmit={async () => remove().then(close)}>
          <p>{words.removeLead}</p>
          <TextField label={words.code} value={code} onChange={setCode} isRequired lengthMax={CODE_LENGTH_MAX} />
        </Form>
      )}
    </DialogButton>
  )
}
