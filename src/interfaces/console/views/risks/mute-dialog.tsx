/** Mutes an episode with a reason and an end, and takes it back. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { HOUR_MS } from '../../../../foundation/domain/calendar.ts'
import { change } from '../../api/client.ts'
import { ActionButton, DialogButton, Form, keepFocus } from '../../parts/dialog.tsx'
import { SelectField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { notify } from '../../parts/toast.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { Mute, Risk } from './party.ts'

const words = texts.risks.muting
const actions = texts.risks.actions
const CUSTOM = ''
/** The service takes at most 90 days from the time at which it gets the call. */
const SPAN_MS_MAX = 90 * 24 * HOUR_MS - 60_000

interface MuteActionProps {
  readonly risk: Pick<Risk, 'riskId' | 'mute'>
  readonly onChanged: () => void
}

/** Mutes the episode, or ends its mute. Nothing for people without the right. */
export function MuteAction({ risk, onChanged }: MuteActionProps) {
  const place = useRef<HTMLSpanElement>(null)
  const isMuted = risk.mute !== null
  const was = useRef(isMuted)
  // One button takes the place of the other.
  useEffect(() => {
    if (was.current !== isMuted) keepFocus(place.current)
    was.current = isMuted
  }, [isMuted])
  if (!scopes.value.has('risks:write')) return null
  return (
    <span ref={place}>
      {risk.mute === null ? (
        <MuteButton riskId={risk.riskId} onChanged={onChanged} />
      ) : (
        <EndButton riskId={risk.riskId} mute={risk.mute} onChanged={onChanged} />
      )}
    </span>
  )
}

interface ButtonProps {
  readonly riskId: string
  readonly onChanged: () => void
}

function MuteButton({ riskId, onChanged }: ButtonProps) {
  return (
    <DialogButton label={actions.mute}>
      {(close) => <MuteForm riskId={riskId} onDone={() => (close(), onChanged())} onChanged={onChanged} />}
    </DialogButton>
  )
}

function EndButton({ riskId, mute, onChanged }: ButtonProps & { readonly mute: NonNullable<Risk['mute']> }) {
  const end = async (): Promise<void> => {
    await endMute(riskId, mute.id)
    notify(words.ended, async () => createMute(riskId, mute).then(onChanged))
    onChanged()
  }
  return <ActionButton label={actions.endMute} onClick={end} />
}

interface MuteFormProps {
  readonly riskId: string
  readonly onDone: () => void
  readonly onChanged: () => void
}

function MuteForm({ riskId, onDone, onChanged }: MuteFormProps) {
  const [reason, setReason] = useState('')
  const [hours, setHours] = useState('24')
  const [time, setTime] = useState('')
  const submit = async (): Promise<void> => {
    const { id } = await createMute(riskId, { reason, until: toUntil(hours, time) })
    notify(words.done, async () => endMute(riskId, id).then(onChanged))
    onDone()
  }
  return (
    <Form submit={actions.mute} onSubmit={submit}>
      <p>{words.lead}</p>
      <TextAreaField label={words.reason} value={reason} onChange={setReason} isRequired />
      <SelectField
        label={words.until}
        value={hours}
        onChange={setHours}
        options={[...Object.entries(words.spans), [CUSTOM, words.custom] as const]}
      />
      {hours === CUSTOM && (
        <TextField label={words.time} type="datetime-local" value={time} onChange={setTime} isRequired />
      )}
    </Form>
  )
}

export function createMute(riskId: string, { reason, until }: Pick<Mute, 'reason' | 'until'>) {
  return change('POST /v1/risks/:riskId/mutes', { riskId }, { reason, until })
}

function endMute(riskId: string, muteId: string): Promise<unknown> {
  return change('DELETE /v1/risks/:riskId/mutes/:muteId', { riskId, muteId }, undefined)
}

/** A time that is typed is in the zone of the reader. */
function toUntil(hours: string, time: string): string {
  const atMs = hours === CUSTOM ? Date.parse(time) : Date.now() + Math.min(Number(hours) * HOUR_MS, SPAN_MS_MAX)
  return new Date(atMs).toISOString()
}
