/** The way of a consumer to an API or a product: the request for a subscription. */

import { useState } from 'preact/hooks'
import { change, chosenConsumer } from '../../api/client.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { notify } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { consumers } from '../../shell/brand.ts'
import { texts } from '../../texts.ts'
import { justCreated } from '../subscriptions/credentials.tsx'

type SecurityType = keyof typeof words.kinds

const words = texts.portal.apis

interface SubscribeProps {
  readonly to: { readonly api: string } | { readonly product: string }
  readonly name: string
  /** There is access already; another subscription is the exception. */
  readonly isAgain?: boolean
}

export function Subscribe({ to, name, isAgain = false }: SubscribeProps) {
  const [kind, setKind] = useState<SecurityType>('ApiKey')
  const [slaVariant, setVariant] = useState('')
  const [contact, setContact] = useState('')
  const consumer = chosenConsumer.value === '' ? (consumers.value[0]?.id ?? '') : chosenConsumer.value
  const subscribe = async (): Promise<void> => {
    const { id, state } = await change(
      'POST /v1/subscriptions',
      {},
      {
        consumer,
        ...to,
        securityTypes: [kind],
        force: false,
        ...(slaVariant.trim() !== '' && { slaVariant: slaVariant.trim() }),
        ...(contact.trim() !== '' && { contact: contact.trim() }),
      },
    )
    // Its page shows the secrets once.
    if (state === 'Active') justCreated.value = id
    notify(state === 'Active' ? words.subscribed : words.requested)
    go(`keys/${encodeURIComponent(id)}`)
  }
  return (
    <DialogButton label={words.subscribe} title={words.subscribeTo(name)} isMain={!isAgain} name="subscribe">
      {() => (
        <Form submit={words.subscribe} onSubmit={subscribe}>
          <p>{words.consequence}</p>
          <SelectField
            label={words.kind}
            value={kind}
            onChange={(value) => setKind(value as SecurityType)}
            options={Object.entries(words.kinds)}
          />
          <TextField
            label={words.tier}
            hint={words.tierHint}
            value={slaVariant}
            onChange={setVariant}
            lengthMax={256}
          />
          <TextField
            label={words.contact}
            hint={words.contactHint}
            value={contact}
            onChange={setContact}
            lengthMax={256}
          />
        </Form>
      )}
    </DialogButton>
  )
}
