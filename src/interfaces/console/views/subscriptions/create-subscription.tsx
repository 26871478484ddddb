/** Subscribes a consumer to an API or to a product. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { notify } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { texts } from '../../texts.ts'
import { justCreated } from './credentials.tsx'
import { titleOf } from './subscription-name.ts'

const words = texts.subscriptions

interface CreateProps {
  /** Null: the person enters it. */
  readonly consumer: string | null
}

export function CreateSubscription({ consumer }: CreateProps) {
  return (
    <DialogButton label={words.create} isMain>
      {(close) => <CreateForm consumer={consumer} onCreated={close} />}
    </DialogButton>
  )
}

function CreateForm({ consumer: given, onCreated }: CreateProps & { readonly onCreated: () => void }) {
  const [consumer, setConsumer] = useState(given ?? '')
  const [kind, setKind] = useState<string>('api')
  const [target, setTarget] = useState('')
  const [tier, setTier] = useState('')
  const [scopes, setScopes] = useState('')
  const create = async (): Promise<void> => {
    const wanted = scopes.split(/[\s,]+/).filter((each) => each !== '')
    const made = await change(
      'POST /v1/subscriptions',
      {},
      {
        consumer: consumer.trim(),
        force: false,
        ...(kind === 'api' ? { api: target.trim() } : { product: target.trim() }),
        ...(tier.trim() !== '' && { slaVariant: tier.trim() }),
        ...(wanted.length > 0 && { scopes: wanted }),
      },
    )
    // Its page shows the secrets once.
    justCreated.value = made.id
    onCreated()
    notify(made.state === 'Active' ? words.createdActive(titleOf(made)) : words.createdWaiting(titleOf(made)))
    go(`subscriptions/${encodeURIComponent(made.id)}/credentials`)
  }
  return (
    <Form submit={words.create} onSubmit={create}>
      {given === null && <TextField label={words.consumerId} value={consumer} onChange={setConsumer} isRequired />}
      <SelectField label={words.to} value={kind} onChange={setKind} options={Object.entries(words.kinds)} />
      <TextField
        label={kind === 'api' ? words.columns.api : words.product}
        hint={kind === 'api' ? words.apiHint : words.productHint}
        value={target}
        onChange={setTarget}
        isRequired
        lengthMax={256}
      />
      <TextField label={words.columns.tier} hint={words.tierHint} value={tier} onChange={setTier} lengthMax={256} />
      <TextField label={words.scopes} hint={words.scopesHint} value={scopes} onChange={setScopes} />
    </Form>
  )
}
