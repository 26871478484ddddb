/** Proposes another tier for a subscription. It is decided like a request for access. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { notify } from '../../parts/toast.tsx'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { Subscription } from './party.ts'

const words = texts.risks.tier
const action = texts.risks.actions.tier

interface TierProps {
  readonly subscription: Subscription
  readonly api: string
  readonly onChanged: () => void
}

export function TierButton(props: TierProps) {
  return <DialogButton label={action}>{(close) => <TierForm {...props} onDone={close} />}</DialogButton>
}

function TierForm({ subscription, api, onChanged, onDone }: TierProps & { readonly onDone: () => void }) {
  const canList = may('openslaspecs:read')
  const declared = useRead(canList ? '/v1/openslaspecs' : null, { query: { api, limit: '500' } })
  const variants = new Set(declared.data?.items.filter(({ inForce }) => inForce).map(({ variant }) => variant))
  const others = [...variants].filter((each) => each !== '' && each !== (subscription.slaVariant ?? ''))
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const slaVariant = typed === '' ? (others[0] ?? '') : typed
  if (canList && declared.data !== null && others.length === 0) return <p>{words.none}</p>
  const submit = async (): Promise<void> => {
    const body = { slaVariant, ...(reason.trim() !== '' && { reason: reason.trim() }) }
    const { state } = await change('POST /v1/subscriptions/:id/tierChanges', { id: subscription.id }, body)
    notify(state === 'Approved' ? words.doneNow : words.done)
    onDone()
    onChanged()
  }
  return (
    <Form submit={action} onSubmit={submit} isDisabled={slaVariant === ''}>
      {canList ? (
        <SelectField
          label={words.variant}
          value={slaVariant}
          onChange={setTyped}
          options={others.map((each) => [each, each] as const)}
        />
      ) : (
        <TextField label={words.variant} value={typed} onChange={setTyped} isRequired />
      )}
      <TextAreaField label={words.reason} value={reason} onChange={setReason} />
    </Form>
  )
}
