/** The subscriptions through which a consumer calls the API of an episode, with the actions against each. */

import { useEffect, useState } from 'preact/hooks'
import { change, read } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { ActionButton } from '../../parts/dialog.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { State } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { consumerOf } from '../../../../foundation/domain/risk.ts'
import type { Subscription, Timeline } from './party.ts'
import { RevokeButton } from './revoke-dialog.tsx'
import { TierButton } from './tier-dialog.tsx'

const words = texts.risks.involved
const actions = texts.risks.actions
const SUBSCRIPTIONS_MAX = '100'
const PRODUCTS_MAX = 20
const CURRENT = ['Active', 'Suspended']

export function Involved({ risk: { api, attributedTo } }: { readonly risk: Timeline }) {
  const consumer = consumerOf(attributedTo)
  const direct = useRead('/v1/subscriptions', { query: { consumer, api, limit: SUBSCRIPTIONS_MAX } })
  const ofProducts = useProductSubscriptions(consumer, api)
  return (
    <>
      <h2>{words.title}</h2>
      <Loaded reading={direct}>
        {({ items }) => {
          const rows = [...items, ...ofProducts.data].filter(({ state }) => CURRENT.includes(state))
          const reload = (): void => {
            direct.reload()
            ofProducts.reload()
          }
          return rows.length === 0 ? (
            <p class="quiet">{words.none}</p>
          ) : (
            <Subscriptions rows={rows} api={api} onChanged={reload} />
          )
        }}
      </Loaded>
    </>
  )
}

/** Subscriptions to a product that contains the API, and to those whose content the person may not read. */
function useProductSubscriptions(consumer: string, api: string) {
  const { data, reload } = useRead('/v1/subscriptions', { query: { consumer, limit: SUBSCRIPTIONS_MAX } })
  const [others, setOthers] = useState<ReadonlySet<string>>(new Set())
  const found = data?.items.filter(({ ApiProductId }) => ApiProductId !== null) ?? []
  const ids = [...new Set(found.map(({ ApiProductId }) => ApiProductId ?? ''))].slice(0, PRODUCTS_MAX)
  useEffect(() => {
    for (const id of may('products:read') ? ids : []) {
      read('/v1/products/:id', { params: { id } }).then(
        ({ apis }) => apis.includes(api) || setOthers((known) => new Set([...known, id])),
        () => undefined,
      )
    }
  }, [ids.join(' '), api])
  return { data: found.filter(({ ApiProductId }) => !others.has(ApiProductId ?? '')), reload }
}

interface SubscriptionsProps {
  readonly rows: readonly Subscription[]
  readonly api: string
  readonly onChanged: () => void
}

/** Cards and no table, so that the actions of each are in reach at any width. */
function Subscriptions({ rows, api, onChanged }: SubscriptionsProps) {
  return (
    <ul class="involved">
      {rows.map((each) => (
        <li key={each.id}>
          <a href={`${BASE}subscriptions/${encodeURIComponent(each.id)}`}>
            <code>{each.id}</code>
          </a>
          <span>
            <To api={each.ApiId} product={each.ApiProductId} />
          </span>
          <span>
            <span class="quiet">{words.tier}</span> <bdi>{each.slaVariant || texts.approvals.defaultTier}</bdi>
          </span>
          <State of={each.state} />
          <Actions subscription={each} api={api} onChanged={onChanged} />
        </li>
      ))}
    </ul>
  )
}

function To({ api, product }: { readonly api: string | null; readonly product: string | null }) {
  if (product === null) return <code>{api}</code>
  return (
    <>
      {words.product} <code>{product}</code>
    </>
  )
}

interface ActionsProps {
  readonly subscription: Subscription
  readonly api: string
  readonly onChanged: () => void
}

function Actions({ subscription, api, onChanged }: ActionsProps) {
  const { id, state } = subscription
  const set = async (name: 'suspend' | 'resume'): Promise<void> => {
    await change(`POST /v1/subscriptions/:id/${name}`, { id }, undefined)
    onChanged()
  }
  const suspend = async (): Promise<void> => {
    await set('suspend')
    notify(words.suspended(id), () => set('resume'))
  }
  const resume = async (): Promise<void> => {
    await set('resume')
    notify(words.resumed(id), () => set('suspend'))
  }
  return (
    <div class="actions">
      {scopes.value.has('subscriptions:write') &&
        (state === 'Active' ? (
          <ActionButton label={actions.suspend} onClick={suspend} />
        ) : (
          <ActionButton label={actions.resume} onClick={resume} />
        ))}
      {may('credentials:write') && may('credentials:read') && <RevokeButton subscription={id} />}
      {may('subscriptions:write') && <TierButton subscription={subscription} api={api} onChanged={onChanged} />}
    </div>
  )
}
