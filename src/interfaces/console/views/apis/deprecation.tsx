/** The end of an API: its deprecation, its retirement, and who still uses it. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { TextAreaField, TextField } from '../../parts/fields.tsx'
import { Time } from '../../parts/values.tsx'
import { notify } from '../../parts/toast.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { useRead } from '../../api/use-read.ts'
import { texts } from '../../texts.ts'
import type { Api, ApiTabProps } from './api-tab.ts'
import { ApiUsers } from './api-users.tsx'

const words = texts.apis.deprecation

export function Deprecation({ api, reload }: ApiTabProps) {
  return (
    <>
      <StateOf api={api} />
      {may('apis:write') && (
        <p class="actions">
          {api.state === 'Active' && <Deprecate api={api} reload={reload} />}
          {api.state === 'Deprecated' && <Retire api={api} reload={reload} />}
        </p>
      )}
      <h2>{words.users}</h2>
      <ApiUsers api={api.id} isActive />
    </>
  )
}

function StateOf({ api: { state, retirementDate, successor } }: { readonly api: Api }) {
  return (
    <>
      <p>{words.states[state]}</p>
      {state === 'Deprecated' && retirementDate !== null && (
        <p>
          {words.retires} <Time at={retirementDate} />
          {successor !== null && (
            <>
              {' '}
              {words.successor} <a href={`${BASE}apis/${encodeURIComponent(successor)}`}>{successor}</a>
            </>
          )}
        </p>
      )}
    </>
  )
}

function Deprecate({ api: { id: name }, reload }: ApiTabProps) {
  return (
    <DialogButton label={words.deprecate} title={words.deprecateOf(name)} isDangerous>
      {(close) => (
        <DeprecateForm
          name={name}
          onDone={() => {
            close()
            notify(words.deprecated(name))
            reload()
          }}
        />
      )}
    </DialogButton>
  )
}

interface DeprecateFormProps {
  readonly name: string
  readonly onDone: () => void
}

function DeprecateForm({ name, onDone }: DeprecateFormProps) {
  const [date, setDate] = useState('')
  const [successor, setSuccessor] = useState('')
  const [note, setNote] = useState('')
  const submit = async (): Promise<void> => {
    const body = {
      retirementDate: new Date(date).toISOString(),
      ...(successor.trim() !== '' && { successor: successor.trim() }),
      ...(note.trim() !== '' && { note: note.trim() }),
    }
    await change('POST /v1/apis/:name/deprecate', { name }, body)
    onDone()
  }
  return (
    <Form submit={words.deprecate} isDangerous onSubmit={submit}>
      <p>{words.consequence}</p>
      <TextField
        type="datetime-local"
        label={words.date}
        hint={words.dateHint}
        value={date}
        onChange={setDate}
        isRequired
      />
      <TextField label={words.successorName} hint={words.successorHint} value={successor} onChange={setSuccessor} />
      <TextAreaField label={words.note} hint={words.noteHint} value={note} onChange={setNote} />
    </Form>
  )
}

function Retire({ api: { id: name }, reload }: ApiTabProps) {
  const query = { ApiId: name, state: 'Active', limit: '1' }
  const isUsed = (useRead('/v1/subscriptions', { query }).data?.items.length ?? 0) > 0
  const retire = async (close: () => void): Promise<void> => {
    await change('POST /v1/apis/:name/retire', { name }, { force: isUsed })
    close()
    notify(words.retired(name))
    reload()
  }
  return (
    <DialogButton label={words.retire} title={words.retireOf(name)} isDangerous>
      {(close) => (
        <Form submit={isUsed ? words.retireAnyway : words.retire} isDangerous onSubmit={() => retire(close)}>
          <p>{isUsed ? words.retireUsed : words.retireUnused}</p>
        </Form>
      )}
    </DialogButton>
  )
}
