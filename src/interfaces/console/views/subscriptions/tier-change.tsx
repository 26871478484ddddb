/** Requests another tier of the service level. It takes effect when it is approved and has capacity. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Form } from '../../parts/dialog.tsx'
import { SelectField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { notify } from '../../parts/toast.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { titleOf } from './subscription-name.ts'

type Subscription = Answer<'/v1/subscriptions/:id'>

const words = texts.subscriptions
/** An API has few tiers. */
const TIERS_MAX = '50'

interface ChangeTierProps {
  readonly subscription: Subscription
  readonly onDone: () => void
}

export function ChangeTier({ subscription, onDone }: ChangeTierProps) {
  const { id, slaVariant } = subscription
  const tiers = useTiers(subscription.ApiId).filter((each) => each !== (slaVariant ?? ''))
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const tier = typed === '' ? (tiers[0] ?? '') : typed
  const request = async (): Promise<void> => {
    const body = { slaVariant: tier, ...(reason.trim() !== '' && { reason: reason.trim() }) }
    const { state } = await change('POST /v1/subscriptions/:id/tierChanges', { id }, body)
    onDone()
    const name = titleOf(subscription)
    notify(state === 'Complete' ? words.tierChanged(name, tier) : words.tierRequested(name, tier))
  }
  return (
    <Form submit={words.changeTier} onSubmit={request} isDisabled={tier === ''}>
      <p class="quiet">{words.tierChange(slaVariant ?? words.defaultTier)}</p>
      {tiers.length > 0 ? (
        <SelectField
          label={words.columns.tier}
          value={tier}
          onChange={setTyped}
          options={tiers.map((each) => [each, each])}
        />
      ) : (
        <TextField label={words.columns.tier} value={typed} onChange={setTyped} isRequired lengthMax={256} />
      )}
      <TextAreaField label={words.reason} value={reason} onChange={setReason} />
    </Form>
  )
}

/** Returns the names of the declared tiers; none for a product, or without the scope. */
function useTiers(api: string | null): readonly string[] {
  const isKnown = api !== null && scopes.value.has('openslaspecs:read')
  const query = { api: api ?? '', limit: TIERS_MAX }
  const { data } = useRead(isKnown ? '/v1/openslaspecs' : null, { query })
  return [...new Set((data?.items ?? []).map(({ variant }) => variant).filter((each) => each !== ''))]
}
