/** One delivery, with each of its attempts. */

import { useRead } from '../../api/use-read.ts'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Id, State, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Redeliver } from './deliveries.tsx'

const words = texts.webhooks

export function DeliveryPage({ webhook, id }: { readonly webhook: string; readonly id: string }) {
  const params = { id: webhook, deliveryId: id }
  const reading = useRead('/v1/eventsubscriptions/:id/deliveries/:deliveryId', { params })
  const { attemptColumns: columns } = words
  return (
    <Loaded reading={reading} title={words.title}>
      {({ type, state, webhookId, nextAttempt, attempts }) => (
        <Page
          title={type}
          state={<State of={words.states[state]} />}
          actions={
            may('eventsubscriptions:write') && state !== 'pending' ? (
              <Redeliver webhook={webhook} id={id} onChange={reading.reload} />
            ) : undefined
          }
        >
          <p>
            <a href={`${BASE}webhooks/${encodeURIComponent(webhook)}`}>{words.back}</a>
          </p>
          <dl class="facts">
            <dt>{words.webhookId}</dt>
            <dd>
              <Id value={webhookId} />
            </dd>
            {nextAttempt !== null && (
              <>
                <dt>{words.deliveryColumns.next}</dt>
                <dd>
                  <Time at={nextAttempt} />
                </dd>
              </>
            )}
          </dl>
          <h2>{words.attempts}</h2>
          <Table
            caption={words.attempts}
            keyOf={({ time }) => time}
            rows={attempts}
            columns={[
              { title: columns.time, cell: ({ time }) => <Time at={time} /> },
              { title: columns.status, isNumber: true, cell: ({ status }) => status ?? words.noResponse },
              {
                title: columns.duration,
                isNumber: true,
                cell: ({ durationMs }) => words.milliseconds(toNumber(durationMs)),
              },
              { title: columns.response, cell: ({ response }) => <bdi>{response}</bdi> },
            ]}
          />
        </Page>
      )}
    </Loaded>
  )
}
