/** The facts of a consumer, and the dialog that changes them. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { fromLines, Labels, LabelsField, toLines } from '../../parts/labels.tsx'
import { tell } from '../../parts/toast.tsx'
import { Id, Time } from '../../parts/values.tsx'
import { go } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { Exposure } from './consumer-list.tsx'

type Consumer = Answer<'/v1/consumers/:id'>

const words = texts.consumers

interface OverviewProps {
  readonly consumer: Consumer
  readonly onChanged: () => void
}

export function ConsumerOverview({ consumer, onChanged }: OverviewProps) {
  const { id, kind, contact, exposure, labels, createdAt } = consumer
  return (
    <>
      <dl class="facts">
        <dt>{words.columns.id}</dt>
        <dd>
          <Id value={id} />
        </dd>
        <dt>{words.columns.kind}</dt>
        <dd>{words.kinds[kind]}</dd>
        <dt>{words.contact}</dt>
        <dd>{contact === undefined ? <span class="quiet">{words.noContact}</span> : <bdi>{contact}</bdi>}</dd>
        <dt>{words.columns.exposure}</dt>
        <dd>
          {words.exposures[exposure]} <span class="quiet">{words.exposureHint}</span>
        </dd>
        <dt>{texts.labels.title}</dt>
        <dd>
          <Labels of={labels} />
        </dd>
        <dt>{words.columns.created}</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
      </dl>
      {scopes.value.has('consumers:write') && (
        <p class="toolbar">
          <DialogButton label={words.edit}>
            {(close) => (
              <EditForm
                consumer={consumer}
                onSaved={() => {
                  close()
                  onChanged()
                }}
              />
            )}
          </DialogButton>
          <RemoveConsumer consumer={consumer} />
        </p>
      )}
    </>
  )
}

interface EditProps {
  readonly consumer: Consumer
  readonly onSaved: () => void
}

function EditForm({ consumer, onSaved }: EditProps) {
  const { id } = consumer
  const [name, setName] = useState(consumer.name)
  const [contact, setContact] = useState(consumer.contact ?? '')
  const [exposure, setExposure] = useState<string>(consumer.exposure)
  const [labels, setLabels] = useState(toLines(consumer.labels))
  const before = {
    name: consumer.name,
    contact: consumer.contact ?? null,
    exposure: consumer.exposure,
    labels: consumer.labels,
  }
  const save = async (): Promise<void> => {
    const body = {
      name,
      contact: contact === '' ? null : contact,
      exposure: exposure as Exposure,
      labels: fromLines(labels),
    }
    await change('PATCH /v1/consumers/:id', { id }, body)
    onSaved()
    tell(words.saved(name), async () => {
      await change('PATCH /v1/consumers/:id', { id }, before)
      onSaved()
    })
  }
  return (
    <Form submit={words.save} onSubmit={save}>
      <TextField label={words.columns.name} value={name} onChange={setName} isRequired lengthMax={128} />
      <TextField label={words.contact} value={contact} onChange={setContact} lengthMax={256} />
      <SelectField
        label={words.columns.exposure}
        hint={words.exposureHint}
        value={exposure}
        onChange={setExposure}
        options={Object.entries(words.exposures)}
      />
      <LabelsField value={labels} onChange={setLabels} />
    </Form>
  )
}

function RemoveConsumer({ consumer: { id, name } }: { readonly consumer: Consumer }) {
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/consumers/:id', { id }, undefined)
    tell(words.removed(name))
    go('consumers')
  }
  return <ConfirmButton label={words.remove} consequence={<bdi>{words.removal(name)}</bdi>} onConfirm={remove} />
}
