/** The terms of a subscription, and the dialogs that change them. */

import type { ComponentChildren } from 'preact'
import type { Answer } from '../../api/operations.ts'
import { DialogButton } from '../../parts/dialog.tsx'
import { Labels } from '../../parts/labels.tsx'
import { Id, Time } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
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
      <Facts of={subscription} />
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

function Facts({ of }: { readonly of: Subscription }) {
  const { id, consumer, consumerName, ApiId, ApiProductId, slaVariant, contact, expiresAt, labels, createdAt } = of
  return (
    <dl class="facts">
      <dt>{words.columns.id}</dt>
      <dd>
        <Id value={id} />
      </dd>
      <dt>{words.columns.consumer}</dt>
      <dd>
        {scopes.value.has('consumers:read') ? (
          <a href={`${BASE}consumers/${encodeURIComponent(consumer)}`}>
            <bdi>{consumerName === '' ? consumer : consumerName}</bdi>
          </a>
        ) : (
          <bdi>{consumerName}</bdi>
        )}
      </dd>
      <dt>{ApiId === null ? words.product : words.columns.api}</dt>
      <dd>{ApiId === null ? <Id value={ApiProductId ?? ''} /> : <Api name={ApiId} />}</dd>
      <dt>{words.columns.tier}</dt>
      <dd>
        <bdi>{slaVariant ?? words.defaultTier}</bdi>
      </dd>
      <dt>{words.scopes}</dt>
      <dd>
        <bdi>{of.scopes.length === 0 ? words.noScopes : of.scopes.join(' ')}</bdi>
      </dd>
      <dt>{words.refreshTokens}</dt>
      <dd>{of.refreshTokens ? words.yes : words.no}</dd>
      <dt>{words.redirectUris}</dt>
      <dd>
        <bdi>{of.redirectUris.length === 0 ? texts.consumers.noContact : of.redirectUris.join(' ')}</bdi>
      </dd>
      <dt>{texts.consumers.contact}</dt>
      <dd>{contact === null ? texts.consumers.noContact : <bdi>{contact}</bdi>}</dd>
      <dt>{words.expires}</dt>
      <dd>{expiresAt === null ? words.never : <Time at={expiresAt} />}</dd>
      <dt>{texts.labels.title}</dt>
      <dd>
        <Labels of={labels} />
      </dd>
      <dt>{words.columns.created}</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
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
