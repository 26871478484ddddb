/** The access of a consumer: its subscriptions, and for each its credentials and limits. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { tell } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { BASE, path } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Limits } from './limits.tsx'
import { SubscriptionLink } from './start.tsx'

type Credential = Item<'/v1/subscriptions/:id/credentials'>

const words = texts.portal.keys
const { columns } = texts.portal.start
/** The portal itself needs this subscription, and it is not made again. */
const PLATFORM = 'platform-v1'
const HOUR_SECONDS = 3_600
const OVERLAP_HOURS = '24'

export function Keys() {
  const id = decodeURIComponent(path.value.split('/')[1] ?? '')
  return id === '' ? <Subscriptions /> : <Subscription key={id} id={id} />
}

function Subscriptions() {
  return (
    <Page title={words.title}>
      <List
        path="/v1/subscriptions"
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate subscriptions list'] }}
        columns={[
          { title: columns.api, cell: (row) => <SubscriptionLink of={row} /> },
          { title: columns.state, cell: ({ state }) => <State of={state} /> },
          { title: columns.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? ''}</bdi> },
          { title: columns.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Page>
  )
}

function Subscription({ id }: { readonly id: string }) {
  const reading = useRead('/v1/subscriptions/:id', { params: { id } })
  return (
    <Loaded reading={reading}>
      {({ ApiId, ApiProductId, state }) => {
        const name = ApiId ?? ApiProductId ?? id
        const isOver = state === 'Cancelled' || state === 'Rejected'
        const cancel = async (): Promise<void> => {
          await change('POST /v1/subscriptions/:id/cancel', { id }, undefined)
          tell(words.cancelled)
          reading.reload()
        }
        return (
          <Page
            title={name}
            state={<State of={state} />}
            actions={
              may('subscriptions:write') && !isOver && ApiId !== PLATFORM ? (
                <ConfirmButton
                  label={words.cancel}
                  consequence={<bdi>{words.cancelConsequence(name)}</bdi>}
                  onConfirm={cancel}
                />
              ) : undefined
            }
          >
            {state === 'Pending' && <p>{words.waiting}</p>}
            {state === 'Active' && may('credentials:read') && <Credentials id={id} />}
            {state === 'Active' && <Limits id={id} />}
            <p class="toolbar">
              <a href={`${BASE}usage?subscription=${encodeURIComponent(id)}`}>{words.usage}</a>
              <a href={`${BASE}requests?api=${encodeURIComponent(ApiId ?? '')}`}>{words.requests}</a>
            </p>
          </Page>
        )
      }}
    </Loaded>
  )
}

/** Read when the person asks for it: each read is noted in the audit log. */
function Credentials({ id }: { readonly id: string }) {
  const [isShown, setShown] = useState(false)
  const reading = useRead(isShown ? '/v1/subscriptions/:id/credentials' : null, { params: { id } })
  return (
    <section>
      <h2>{words.title}</h2>
      {isShown ? (
        <Loaded reading={reading}>
          {({ items }) => <CredentialTable subscription={id} items={items} onChange={reading.reload} />}
        </Loaded>
      ) : (
        <p>
          <button type="button" class="main" onClick={() => setShown(true)}>
            {words.show}
          </button>{' '}
          <span class="quiet">{words.shown}</span>
        </p>
      )}
    </section>
  )
}

interface CredentialTableProps {
  readonly subscription: string
  readonly items: readonly Credential[]
  readonly onChange: () => void
}

function CredentialTable({ subscription, items, onChange }: CredentialTableProps) {
  const isWriter = may('credentials:write')
  return (
    <>
      <Table
        caption={words.title}
        keyOf={({ id }) => id}
        rows={items}
        columns={[
          { title: words.columns.type, cell: ({ type }) => type },
          { title: words.columns.client, cell: ({ clientId }) => (clientId === null ? null : <Id value={clientId} />) },
          { title: words.columns.secret, cell: (each) => <Secret of={each} /> },
          { title: words.columns.state, cell: ({ state }) => <State of={state} /> },
          { title: words.columns.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: words.columns.actions,
            cell: ({ id, state }) =>
              isWriter && state !== 'Revoked' && state !== 'Expired' ? (
                <Revoke subscription={subscription} id={id} onChange={onChange} />
              ) : null,
          },
        ]}
      />
      {isWriter && <Rotate subscription={subscription} onChange={onChange} />}
    </>
  )
}

function Secret({ of: { apiKey, clientSecret } }: { readonly of: Credential }) {
  const secret = apiKey ?? clientSecret
  return secret === null ? null : <Id value={secret} />
}

interface ActionProps {
  readonly subscription: string
  readonly onChange: () => void
}

function Revoke({ subscription, id, onChange }: ActionProps & { readonly id: string }) {
  const revoke = async (): Promise<void> => {
    const params = { id: subscription, credentialId: id }
    await change('DELETE /v1/subscriptions/:id/credentials/:credentialId', params, undefined)
    tell(words.revoked)
    onChange()
  }
  return <ConfirmButton label={words.revoke} consequence={words.revokeConsequence} onConfirm={revoke} />
}

function Rotate({ subscription, onChange }: ActionProps) {
  const [hours, setHours] = useState(OVERLAP_HOURS)
  const rotate = async (): Promise<void> => {
    const overlapSeconds = Math.round(Number(hours) * HOUR_SECONDS)
    await change('POST /v1/subscriptions/:id/credentials/rotate', { id: subscription }, { overlapSeconds })
    tell(words.rotated)
    onChange()
  }
  return (
    <p>
      <DialogButton label={words.rotate}>
        {(close) => (
          <Form submit={words.rotate} onSubmit={async () => rotate().then(close)}>
            <TextField label={words.overlap} type="number" value={hours} onChange={setHours} isRequired />
          </Form>
        )}
      </DialogButton>
    </p>
  )
}
