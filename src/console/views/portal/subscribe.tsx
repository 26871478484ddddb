/** The way of a consumer to an API or a product: its subscriptions to it, and the request for a new one. */

import { useState } from 'preact/hooks'
import { change, chosenConsumer } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Loaded } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { State } from '../../parts/values.tsx'
import { go } from '../../router.ts'
import { consumers } from '../../shell/brand.ts'
import { texts } from '../../texts.ts'
import { SubscriptionLink } from './start.tsx'

type SecurityType = keyof typeof words.kinds

const words = texts.portal.apis
const SHOWN = '20'

export function OwnAccess({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const reading = useRead('/v1/subscriptions', { query: { ...query, limit: SHOWN } })
  return (
    <section>
      <h2>{words.yours}</h2>
      <Loaded reading={reading}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="quiet">{words.noneYours}</p>
          ) : (
            <ul>
              {items.map((each) => (
                <li key={each.id}>
                  <SubscriptionLink of={each} /> <State of={each.state} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  )
}

interface SubscribeProps {
  readonly to: { readonly api: string } | { readonly product: string }
  readonly name: string
}

export function Subscribe({ to, name }: SubscribeProps) {
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
    tell(state === 'Active' ? words.subscribed : words.requested)
    go(`keys/${encodeURIComponent(id)}`)
  }
  return (
    <DialogButton label={words.subscribe} title={words.subscribeTo(name)} isMain name="subscribe">
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
