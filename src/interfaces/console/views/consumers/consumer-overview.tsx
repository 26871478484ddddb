/** The facts of a consumer, and the dialog that changes them. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { fromLines, LabelsField, toLines } from '../../parts/labels.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id } from '../../parts/values.tsx'
import { go } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { contactFact, labelFacts } from './shared-facts.tsx'
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
      <Facts
        of={[
          [words.columns.id, <Id value={id} />],
          [words.columns.kind, words.kinds[kind]],
          contactFact(contact ?? null),
          [
            words.columns.exposure,
            <>
              {words.exposures[exposure]} <span class="quiet">{words.exposureHint}</span>
            </>,
          ],
          ...labelFacts(labels, createdAt),
        ]}
      />
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
    notify(words.saved(name), async () => {
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
    notify(words.removed(name))
    go('consumers')
  }
  return <ConfirmButton label={words.remove} consequence={<bdi>{words.removal(name)}</bdi>} onConfirm={remove} />
}
