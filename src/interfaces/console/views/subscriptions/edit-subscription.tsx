/** Changes the scopes of a subscription, and its other terms. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Form } from '../../parts/dialog.tsx'
import { CheckField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { fromLines, LabelsField, toLines } from '../../parts/labels.tsx'
import { notify } from '../../parts/toast.tsx'
import { texts } from '../../texts.ts'
import { titleOf } from './subscription-name.ts'

type Subscription = Answer<'/v1/subscriptions/:id'>

const words = texts.subscriptions
const MINUTE_LENGTH = 16

interface EditProps {
  readonly subscription: Subscription
  readonly onDone: () => void
}

export function SetScopes({ subscription, onDone }: EditProps) {
  const { id, scopes: before } = subscription
  const [typed, setTyped] = useState(before.join('\n'))
  const set = async (wanted: readonly string[]): Promise<void> => {
    await change('PUT /v1/subscriptions/:id/scopes', { id }, { scopes: [...wanted] })
    onDone()
  }
  const save = async (): Promise<void> => {
    await set(typed.split(/[\s,]+/).filter((each) => each !== ''))
    notify(words.scopesSet(titleOf(subscription)), () => set(before))
  }
  return (
    <Form submit={words.setScopes} onSubmit={save}>
      <TextAreaField label={words.scopes} hint={words.scopesEffect} value={typed} onChange={setTyped} />
    </Form>
  )
}

export function EditTerms({ subscription, onDone }: EditProps) {
  const { id, contact: contactBefore, expiresAt, refreshTokens: wasRefreshing, labels: labelsBefore } = subscription
  const [contact, setContact] = useState(contactBefore ?? '')
  const [expires, setExpires] = useState(expiresAt === null ? '' : toLocal(expiresAt))
  const [refreshTokens, setRefreshTokens] = useState(wasRefreshing)
  const [labels, setLabels] = useState(toLines(labelsBefore))
  const before = {
    contact: contactBefore,
    expiresAt,
    refreshTokens: wasRefreshing,
    labels: labelsBefore,
  }
  const save = async (): Promise<void> => {
    await change(
      'PATCH /v1/subscriptions/:id',
      { id },
      {
        contact: contact === '' ? null : contact,
        expiresAt: expires === '' ? null : new Date(expires).toISOString(),
        refreshTokens,
        labels: fromLines(labels),
      },
    )
    onDone()
    notify(words.saved(titleOf(subscription)), async () => {
      await change('PATCH /v1/subscriptions/:id', { id }, before)
      onDone()
    })
  }
  return (
    <Form submit={words.save} onSubmit={save}>
      <TextField label={texts.consumers.contact} value={contact} onChange={setContact} lengthMax={256} />
      <TextField
        label={words.expires}
        hint={words.expiresHint}
        type="datetime-local"
        value={expires}
        onChange={setExpires}
      />
      <CheckField label={words.refreshTokens} value={refreshTokens} onChange={setRefreshTokens} />
      <LabelsField value={labels} onChange={setLabels} />
    </Form>
  )
}

/** Returns the time in the zone of the reader, as the field shows it. */
function toLocal(time: string): string {
  const at = new Date(time)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, MINUTE_LENGTH)
}
