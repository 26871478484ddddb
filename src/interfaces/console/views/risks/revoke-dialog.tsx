/** Revokes a credential of a subscription, which cannot be undone. The credentials are read when the dialog opens, because each read is audited. */

import { useEffect, useState } from 'preact/hooks'
import { CallRefused, change, read, type Problem } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { DialogButton, Form, Refusal } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { texts } from '../../texts.ts'

/** Without the secrets, which the answer has for people who may reveal them. */
type Credential = Pick<Item<'/v1/subscriptions/:id/credentials'>, 'id' | 'type' | 'clientId'>

const words = texts.risks.revoking
const action = texts.risks.actions.revoke

export function RevokeButton({ subscription }: { readonly subscription: string }) {
  return (
    <DialogButton label={action} isDangerous>
      {(close) => <RevokeForm subscription={subscription} onDone={close} />}
    </DialogButton>
  )
}

function RevokeForm({ subscription, onDone }: { readonly subscription: string; readonly onDone: () => void }) {
  const { found, problem } = useCredentials(subscription)
  const [chosen, setChosen] = useState<string | null>(null)
  if (problem !== null) return <Refusal problem={problem} />
  if (found === null) return <Skeleton />
  const [first] = found
  if (first === undefined) return <p>{words.none}</p>
  const credentialId = chosen ?? first.id
  const revoke = async (): Promise<void> => {
    await change(
      'DELETE /v1/subscriptions/:id/credentials/:credentialId',
      { id: subscription, credentialId },
      undefined,
    )
    notify(words.done)
    onDone()
  }
  return (
    <Form submit={action} isDangerous onSubmit={revoke}>
      <SelectField
        label={words.credential}
        value={credentialId}
        onChange={setChosen}
        options={found.map((each) => [each.id, toName(each)] as const)}
      />
      <p>{words.consequence}</p>
    </Form>
  )
}

function useCredentials(id: string) {
  const [found, setFound] = useState<readonly Credential[] | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  useEffect(() => {
    read('/v1/subscriptions/:id/credentials', { params: { id }, query: { reveal: 'false' } }).then(
      ({ items }) => {
        const active = items.filter(({ state }) => state === 'Active' || state === 'Expiring')
        setFound(active.map(({ id: each, type, clientId }) => ({ id: each, type, clientId })))
      },
      (cause: unknown) => {
        if (!(cause instanceof CallRefused)) throw cause
        setProblem(cause.problem)
      },
    )
  }, [id])
  return { found, problem }
}

function toName({ id, type, clientId }: Credential): string {
  return `${words.kinds[type]} ${clientId ?? id}`
}
