/** The main actions of a subscription. */

import { change } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ActionButton, ConfirmButton } from '../../parts/dialog.tsx'
import { notify } from '../../parts/toast.tsx'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { titleOf } from './subscription-name.ts'

const words = texts.subscriptions

interface SubscriptionActionsProps {
  readonly subscription: Answer<'/v1/subscriptions/:id'>
  readonly onChanged: () => void
}

/** A consumer can cancel; only its provider can suspend and resume. */
export function SubscriptionActions({ subscription, onChanged }: SubscriptionActionsProps) {
  const { id, state } = subscription
  const name = titleOf(subscription)
  const isWide = scopes.value.has('subscriptions:write')
  const set = async (name_: 'suspend' | 'resume'): Promise<void> => {
    await change(`POST /v1/subscriptions/:id/${name_}`, { id }, undefined)
    onChanged()
  }
  const suspend = async (): Promise<void> => {
    await set('suspend')
    notify(words.suspended(name), () => set('resume'))
  }
  const resume = async (): Promise<void> => {
    await set('resume')
    notify(words.resumed(name), () => set('suspend'))
  }
  const cancel = async (): Promise<void> => {
    await change('POST /v1/subscriptions/:id/cancel', { id }, undefined)
    onChanged()
    notify(words.cancelled(name))
  }
  const hasEnded = state === 'Cancelled' || state === 'Rejected'
  return (
    <>
      {isWide && state === 'Active' && <ActionButton label={words.suspend} onClick={suspend} />}
      {isWide && state === 'Suspended' && <ActionButton label={words.resume} onClick={resume} isMain />}
      {may('subscriptions:write') && !hasEnded && (
        <ConfirmButton label={words.cancel} consequence={<bdi>{words.cancellation(name)}</bdi>} onConfirm={cancel} />
      )}
    </>
  )
}
