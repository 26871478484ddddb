/** Calls an operation through the gateway, in the name of the person who is signed in. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import { ActionButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { Loaded } from '../../parts/states.tsx'
import { segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'
import type { ApiDocument, ApiOperation, ApiParameter } from './document.ts'
import { NotServing } from './documentation.tsx'
import { Method, OperationList } from './operation-list.tsx'
import { sendTry, type TryAnswer } from './send-try.ts'
import { Answer } from './try-answer.tsx'
import { toTryCall, type TryCall, type TryValues } from './try-call.ts'
import { initialValues } from './try-values.ts'
import { useServingDocument } from './use-document.ts'

const words = texts.apis.tryIt
/** The console sends these; the others are for clients. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

export function TryIt({ api: { id } }: ApiTabProps) {
  const reading = useServingDocument(id)
  return (
    <Loaded reading={reading}>
      {({ document }) => (document === null ? <NotServing api={id} /> : <Operations api={id} document={document} />)}
    </Loaded>
  )
}

function Operations({ api, document }: { readonly api: string; readonly document: ApiDocument }) {
  const { operations, resolve } = document
  const key = segment(3)
  const shown = operations.find((each) => each.key === key)
  return (
    <div class="documentation">
      <OperationList api={api} tab="try" operations={operations} current={key} />
      <div class="operation">
        {shown === undefined ? (
          <p>{words.choose}</p>
        ) : (
          <OperationForm key={shown.key} api={api} operation={shown} resolve={resolve} />
        )}
      </div>
    </div>
  )
}

interface OperationFormProps {
  readonly api: string
  readonly operation: ApiOperation
  readonly resolve: ApiDocument['resolve']
}

interface Made {
  readonly call: TryCall
  readonly answer: TryAnswer
}

function OperationForm({ api, operation, resolve }: OperationFormProps) {
  const [values, setValues] = useState<TryValues>(() => initialValues(operation, resolve))
  const [made, setMade] = useState<Made | null>(null)
  const { method, path, parameters, summary, key, body } = operation
  const set = (changed: Partial<TryValues>): void => setValues((former) => ({ ...former, ...changed }))
  const send = async (): Promise<void> => {
    const call = toTryCall(api, operation, values)
    setMade({ call, answer: await sendTry(call) })
  }
  return (
    <>
      <h2>
        <bdi>{summary === '' ? key : summary}</bdi>
      </h2>
      <p>
        <Method of={method} /> <code>{path}</code>
      </p>
      {METHODS.has(method) ? (
        <Form submit={words.send} onSubmit={send}>
          {parameters.map((each) => (
            <ParameterField key={`${each.place} ${each.name}`} parameter={each} values={values} onChange={set} />
          ))}
          {body !== null && method !== 'GET' && method !== 'HEAD' && (
            <BodyFields operation={operation} values={values} onChange={set} />
          )}
          <p class="quiet">{words.metered}</p>
        </Form>
      ) : (
        <p class="notice">{words.otherMethod}</p>
      )}
      {made !== null &&
        (made.answer.kind === 'answer' ? (
          <Answer answer={made.answer} call={made.call} />
        ) : (
          <Subscribe api={api} consumers={made.answer.consumers} onSubscribed={send} />
        ))}
    </>
  )
}

interface FieldsProps {
  readonly values: TryValues
  readonly onChange: (changed: Partial<TryValues>) => void
}

function ParameterField({ parameter, values, onChange }: FieldsProps & { readonly parameter: ApiParameter }) {
  const { name, place, isRequired, description } = parameter
  if (place === 'cookie') return <p class="quiet">{words.noCookie(name)}</p>
  const key = `${place} ${name}`
  return (
    <TextField
      label={words.parameter(name, texts.apis.documentation.places[place as 'path' | 'query' | 'header'] ?? place)}
      {...(description !== '' && { hint: description })}
      value={values.parameters[key] ?? ''}
      onChange={(value) => onChange({ parameters: { ...values.parameters, [key]: value } })}
      isRequired={isRequired}
    />
  )
}

function BodyFields({ operation, values, onChange }: FieldsProps & Pick<OperationFormProps, 'operation'>) {
  const types = operation.body?.contents.map(({ mediaType }) => mediaType) ?? []
  return (
    <>
      {types.length > 1 && (
        <SelectField
          label={words.mediaType}
          value={values.mediaType}
          onChange={(mediaType) => onChange({ mediaType })}
          options={types.map((each) => [each, each])}
        />
      )}
      <TextAreaField
        label={words.body(values.mediaType)}
        value={values.body}
        onChange={(body) => onChange({ body })}
        isRequired={operation.body?.isRequired === true}
      />
    </>
  )
}

interface SubscribeProps {
  readonly api: string
  readonly consumers: readonly string[]
  readonly onSubscribed: () => Promise<void>
}

/** The person acts for consumers, none of which may call the API yet. */
function Subscribe({ api, consumers, onSubscribed }: SubscribeProps) {
  const [consumer, setConsumer] = useState(consumers[0] ?? '')
  const [state, setState] = useState('')
  const subscribe = async (): Promise<void> => {
    const made = await change('POST /v1/subscriptions', {}, { consumer, api, force: false })
    setState(made.state)
    if (made.state === 'Active') await onSubscribed()
  }
  return (
    <div class="empty">
      <p role="status">{state === '' ? words.unsubscribed : words.subscribed(state)}</p>
      {consumer === '' && <p class="quiet">{words.noConsumer}</p>}
      {consumers.length > 1 && (
        <SelectField
          label={words.consumer}
          value={consumer}
          onChange={setConsumer}
          options={consumers.map((each) => [each, each])}
        />
      )}
      {consumer !== '' && may('subscriptions:write') ? (
        state === '' && <ActionButton label={words.subscribe} isMain onClick={subscribe} />
      ) : (
        <p class="quiet">{texts.states.whoGrants}</p>
      )}
    </div>
  )
}
