/** Dialogs that create and change a receiver of events. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { CheckField, TextField } from '../../parts/fields.tsx'
import { Once } from '../../parts/once.tsx'
import { notify } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { texts } from '../../texts.ts'
import { EVENTS, type EventName } from './events.ts'

type Subscription = Item<'/v1/eventsubscriptions'>

const words = texts.webhooks
const URL_LENGTH_MAX = 2_048

export function CreateWebhook() {
  const [made, setMade] = useState<{ readonly id: string; readonly secret: string } | null>(null)
  return (
    <DialogButton label={words.create} isMain name="create">
      {() =>
        made === null ? (
          <Fields
            submit={words.create}
            onSubmit={async (url, events) => {
              const { id, secret } = await change('POST /v1/eventsubscriptions', {}, { url, ...(events && { events }) })
              setMade({ id, secret })
              notify(words.created)
            }}
          />
        ) : (
          <Once
            text={words.secretOnce}
            secrets={[[words.secret, made.secret]]}
            done={words.close}
            onDone={() => go(`webhooks/${encodeURIComponent(made.id)}`)}
          />
        )
      }
    </DialogButton>
  )
}

interface EditProps {
  readonly webhook: Subscription
  readonly onChange: () => void
}

export function EditWebhook({ webhook, onChange }: EditProps) {
  return (
    <DialogButton label={words.edit}>
      {(close) => (
        <Fields
          submit={words.save}
          before={webhook}
          onSubmit={async (url, events) => {
            await change('PATCH /v1/eventsubscriptions/:id', { id: webhook.id }, { url, events })
            close()
            notify(words.saved)
            onChange()
          }}
        />
      )}
    </DialogButton>
  )
}

interface FieldsProps {
  readonly submit: string
  readonly before?: Pick<Subscription, 'url' | 'events'>
  /** Null: all events. */
  readonly onSubmit: (url: string, events: EventName[] | null) => Promise<void>
}

function Fields({ submit, before, onSubmit }: FieldsProps) {
  const [url, setUrl] = useState(before?.url ?? '')
  const [events, setEvents] = useState<readonly EventName[] | null>(before?.events ?? null)
  const toggle = (event: EventName, isOn: boolean): void =>
    setEvents((current) => EVENTS.filter((each) => (each === event ? isOn : (current?.includes(each) ?? false))))
  return (
    <Form
      submit={submit}
      isDisabled={events?.length === 0}
      onSubmit={() => onSubmit(url.trim(), events === null ? null : [...events])}
    >
      <TextField
        label={words.url}
        hint={words.urlHint}
        type="url"
        value={url}
        onChange={setUrl}
        isRequired
        lengthMax={URL_LENGTH_MAX}
      />
      <fieldset>
        <legend>{words.events}</legend>
        <CheckField
          label={words.allEvents}
          value={events === null}
          onChange={(isAll) => setEvents(isAll ? null : EVENTS)}
        />
        {events !== null &&
          EVENTS.map((each) => (
            <CheckField key={each} label={each} value={events.includes(each)} onChange={(isOn) => toggle(each, isOn)} />
          ))}
      </fieldset>
    </Form>
  )
}
