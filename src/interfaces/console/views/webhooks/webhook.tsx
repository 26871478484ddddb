/** One receiver of events: its facts, its actions and its deliveries. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ActionButton, ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { Once } from '../../parts/once.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { go } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Deliveries } from './deliveries.tsx'
import { EditWebhook } from './edit.tsx'
import { EVENTS, type EventName } from './events.ts'

type Subscription = Item<'/v1/eventsubscriptions'>

const words = texts.webhooks

export function Webhook({ id }: { readonly id: string }) {
  const reading = useRead('/v1/eventsubscriptions/:id', { params: { id } })
  return (
    <Loaded reading={reading} title={words.title}>
      {(webhook) => (
        <Page
          title={webhook.url}
          state={<State of={webhook.state} />}
          actions={
            may('eventsubscriptions:write') ? <Actions webhook={webhook} onChange={reading.reload} /> : undefined
          }
        >
          <Facts webhook={webhook} />
          <Deliveries webhook={id} />
        </Page>
      )}
    </Loaded>
  )
}

function Facts({ webhook: { id, consumer, events, failingSince, createdAt } }: { readonly webhook: Subscription }) {
  return (
    <dl class="facts">
      <dt>{words.events}</dt>
      <dd>{events?.join(', ') ?? words.all}</dd>
      <dt>{words.consumer}</dt>
      <dd>{consumer === null ? words.wholeTenant : <Id value={consumer} />}</dd>
      {failingSince !== null && (
        <>
          <dt>{words.failingSince}</dt>
          <dd>
            <Time at={failingSince} />
          </dd>
        </>
      )}
      <dt>{words.createdAt}</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
      <dt>{words.webhookId}</dt>
      <dd>
        <Id value={id} />
      </dd>
    </dl>
  )
}

interface ActionsProps {
  readonly webhook: Subscription
  readonly onChange: () => void
}

function Actions({ webhook, onChange }: ActionsProps) {
  const { id, url, state } = webhook
  const setState = async (next: 'active' | 'disabled'): Promise<void> => {
    await change('PATCH /v1/eventsubscriptions/:id', { id }, { state: next })
    onChange()
  }
  const toggle = async (): Promise<void> => {
    const isOn = state !== 'disabled'
    await setState(isOn ? 'disabled' : 'active')
    notify(isOn ? words.disabled : words.enabled, () => setState(isOn ? 'active' : 'disabled'))
  }
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/eventsubscriptions/:id', { id }, undefined)
    notify(words.removed)
    go('webhooks')
  }
  return (
    <>
      <SendTest id={id} onChange={onChange} />
      <EditWebhook webhook={webhook} onChange={onChange} />
      <ActionButton label={state === 'disabled' ? words.enable : words.disable} onClick={toggle} />
      <RotateSecret id={id} />
      <ConfirmButton label={words.remove} consequence={<bdi>{words.removeConsequence(url)}</bdi>} onConfirm={remove} />
    </>
  )
}

function SendTest({ id, onChange }: { readonly id: string; readonly onChange: () => void }) {
  const [type, setType] = useState<EventName>(EVENTS[0]!)
  return (
    <DialogButton label={words.test} isMain>
      {(close) => (
        <Form
          submit={words.test}
          onSubmit={async () => {
            await change('POST /v1/eventsubscriptions/:id/test', { id }, { type })
            close()
            notify(words.tested)
            onChange()
          }}
        >
          <SelectField
            label={words.deliveryColumns.type}
            value={type}
            onChange={(value) => setType(value as EventName)}
            options={EVENTS.map((each) => [each, each])}
          />
        </Form>
      )}
    </DialogButton>
  )
}

function RotateSecret({ id }: { readonly id: string }) {
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <DialogButton label={words.rotate}>
      {(close) =>
        secret === null ? (
          <Form
            submit={words.rotate}
            onSubmit={async () => {
              const made = await change('POST /v1/eventsubscriptions/:id/rotateSecret', { id }, undefined)
              setSecret(made.secret)
            }}
          >
            <p>{words.rotateLead}</p>
          </Form>
        ) : (
          <Once
            text={words.secretOnce}
            secrets={[[words.secret, secret]]}
            done={words.close}
            onDone={() => {
              setSecret(null)
              close()
            }}
          />
        )
      }
    </DialogButton>
  )
}
