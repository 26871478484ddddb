/** The deliveries of a receiver, by state, and the way to send them again. */

import { useState } from 'preact/hooks'
import { HOUR_MS } from '../../../../foundation/domain/calendar.ts'
import { change } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { ActionButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Pages } from '../../parts/pages.tsx'
import { notify } from '../../parts/toast.tsx'
import { State, Time } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

const words = texts.webhooks

export function Deliveries({ webhook }: { readonly webhook: string }) {
  const state = query.value.get('state') ?? ''
  const asked = { params: { id: webhook }, query: { state, ...Pages.query() } }
  const reading = useRead('/v1/eventsubscriptions/:id/deliveries', asked)
  const { deliveryColumns: columns } = words
  const base = `${BASE}webhooks/${encodeURIComponent(webhook)}/deliveries`
  const isWriter = may('eventsubscriptions:write')
  return (
    <section>
      <h2>{words.deliveries}</h2>
      <Filters>
        <SelectFilter
          name="state"
          label={words.state}
          options={[['', words.anyState], ...Object.entries(words.states)]}
        />
        {isWriter && <RedeliverFailed webhook={webhook} onChange={reading.reload} />}
      </Filters>
      <ListOf
        reading={reading}
        caption={words.deliveries}
        keyOf={({ id }) => id}
        empty={{ text: words.noDeliveries, commands: [`tollgate webhooks deliveries ${webhook}`] }}
        columns={[
          {
            title: columns.id,
            cell: ({ id }) => (
              <a href={`${base}/${encodeURIComponent(id)}`}>
                <code>{id}</code>
              </a>
            ),
          },
          { title: columns.type, cell: ({ type }) => type },
          { title: columns.state, cell: (each) => <State of={words.states[each.state]} /> },
          {
            title: columns.next,
            cell: ({ nextAttempt }) => (nextAttempt === null ? null : <Time at={nextAttempt} />),
          },
          { title: columns.attempts, isNumber: true, cell: ({ attempts }) => attempts.length },
          {
            title: columns.actions,
            cell: ({ id, state: current }) =>
              isWriter && current !== 'pending' ? (
                <Redeliver webhook={webhook} id={id} onChange={reading.reload} />
              ) : null,
          },
        ]}
      />
    </section>
  )
}

interface RedeliverProps {
  readonly webhook: string
  readonly onChange: () => void
}

export function Redeliver({ webhook, id, onChange }: RedeliverProps & { readonly id: string }) {
  const send = async (): Promise<void> => {
    await change('POST /v1/eventsubscriptions/:id/redeliver', { id: webhook }, { delivery: id })
    notify(words.redelivered)
    onChange()
  }
  return <ActionButton label={words.redeliver} onClick={send} />
}

function RedeliverFailed({ webhook, onChange }: RedeliverProps) {
  const [since, setSince] = useState(() => new Date(Date.now() - HOUR_MS).toISOString().slice(0, 16))
  return (
    <DialogButton label={words.redeliverFailed}>
      {(close) => (
        <Form
          submit={words.redeliverFailed}
          onSubmit={async () => {
            const body = { since: `${since}:00Z` }
            const { redelivered } = await change('POST /v1/eventsubscriptions/:id/redeliver', { id: webhook }, body)
            close()
            notify(words.redeliveredMany(redelivered))
            onChange()
          }}
        >
          <TextField label={words.since} type="datetime-local" value={since} onChange={setSince} isRequired />
        </Form>
      )}
    </DialogButton>
  )
}
