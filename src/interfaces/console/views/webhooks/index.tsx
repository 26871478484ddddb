/** Receivers of events: `webhooks`, `webhooks/{id}`, and `webhooks/{id}/deliveries/{delivery}`. */

import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { State, Time } from '../../parts/values.tsx'
import { BASE, segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { DeliveryPage } from './delivery.tsx'
import { CreateWebhook } from './edit.tsx'
import { Webhook } from './webhook.tsx'

const words = texts.webhooks

export function Webhooks() {
  const [id, delivery] = [segment(1), segment(3)]
  if (id === '') return <All />
  return delivery === '' ? <Webhook key={id} id={id} /> : <DeliveryPage key={delivery} webhook={id} id={delivery} />
}

function All() {
  const { columns } = words
  return (
    <Page title={words.title} actions={may('eventsubscriptions:write') ? <CreateWebhook /> : undefined}>
      <List
        path="/v1/eventsubscriptions"
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate webhooks create --url https://example.com/hook'] }}
        columns={[
          {
            title: columns.url,
            cell: ({ id, url }) => (
              <a href={`${BASE}webhooks/${encodeURIComponent(id)}`}>
                <bdi>{url}</bdi>
              </a>
            ),
          },
          { title: columns.state, cell: ({ state }) => <State of={state} /> },
          { title: columns.events, cell: ({ events }) => events?.join(', ') ?? words.all },
          { title: columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Page>
  )
}
