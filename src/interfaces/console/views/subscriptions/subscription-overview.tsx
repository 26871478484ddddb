/** The terms of a subscription, and the dialogs that change them. */

import type { ComponentChildren } from 'preact'
import type { Answer } from '../../api/operations.ts'
import { DialogButton } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Id, Time } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { contactFact, labelFacts } from '../consumers/shared-facts.tsx'
import { EditTerms, SetScopes } from './edit-subscription.tsx'
import { ChangeTier } from './tier-change.tsx'

type Subscription = Answer<'/v1/subscriptions/:id'>

const words = texts.subscriptions

interface OverviewProps {
  readonly subscription: Subscription
  readonly onChanged: () => void
}

export function SubscriptionOverview({ subscription, onChanged }: OverviewProps) {
  const { state, recommendations } = subscription
  const hasEnded = state === 'Cancelled' || state === 'Rejected'
  return (
    <>
      {recommendations.map(({ api, message }) => (
        <p key={api} class="notice">
          <bdi>{message}</bdi>
        </p>
      ))}
      <SubscriptionFacts of={subscription} />
      {!hasEnded && (
        <p class="toolbar">
          {may('subscriptions:write') && (
            <>
              <Opener label={words.changeTier} onChanged={onChanged}>
                {(close) => <ChangeTier subscription={subscription} onDone={close} />}
              </Opener>
              <Opener label={words.setScopes} onChanged={onChanged}>
                {(close) => <SetScopes subscription={subscription} onDone={close} />}
              </Opener>
            </>
          )}
          {scopes.value.has('subscriptions:write') && (
            <Opener label={words.edit} onChanged={onChanged}>
              {(close) => <EditTerms subscription={subscription} onDone={close} />}
            </Opener>
          )}
        </p>
      )}
    </>
  )
}

interface OpenerProps {
  readonly label: string
  readonly onChanged: () => void
  readonly children: (done: () => void) => ComponentChildren
}

function Opener({ label, onChanged, children }: OpenerProps) {
  return (
    <DialogButton label={label}>
      {(close) =>
        children(() => {
          close()
          onChanged()
        })
      }
    </DialogButton>
  )
}

function SubscriptionFacts({ of }: { readonly of: Subscription }) {
  const { id, ApiId, ApiProductId, slaVariant, contact, expiresAt, labels, createdAt } = of
  return (
    <Facts
      of={[
        [words.columns.id, <Id value={id} />],
        [words.columns.consumer, <Consumer of={of} />],
        ApiId === null ? [words.product, <Id value={ApiProductId ?? ''} />] : [words.columns.api, <Api name={ApiId} />],
        [words.columns.tier, <bdi>{slaVariant ?? words.defaultTier}</bdi>],
        [words.scopes, <bdi>{of.scopes.length === 0 ? words.noScopes : of.scopes.join(' ')}</bdi>],
        [words.refreshTokens, of.refreshTokens ? words.yes : words.no],
        [
          words.redirectUris,
          <bdi>{of.redirectUris.length === 0 ? texts.consumers.noContact : of.redirectUris.join(' ')}</bdi>,
        ],
        contactFact(contact),
        [words.expires, expiresAt === null ? words.never : <Time at={expiresAt} />],
        ...labelFacts(labels, createdAt),
      ]}
    />
  )
}

function Consumer({ of: { consumer, consumerName } }: { readonly of: Subscription }) {
  if (!scopes.value.has('consumers:read')) return <bdi>{consumerName}</bdi>
  return (
    <a href={`${BASE}consumers/${encodeURIComponent(consumer)}`}>
      <bdi>{consumerName === '' ? consumer : consumerName}</bdi>
    </a>
  )
}

function Api({ name }: { readonly name: string }) {
  if (!may('apis:read')) return <bdi>{name}</bdi>
  return (
    <a href={`${BASE}apis/${encodeURIComponent(name)}`}>
      <bdi>{name}</bdi>
    </a>
  )
}
