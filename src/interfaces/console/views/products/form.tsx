/** The name of a product and its APIs, which are added one by one. */

import { useId, useState } from 'preact/hooks'
import { useRead } from '../../api/use-read.ts'
import { Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { texts } from '../../texts.ts'

export interface ProductInput {
  readonly name: string
  readonly apis: readonly string[]
}

interface ProductFormProps {
  readonly first: ProductInput
  readonly submit: string
  readonly hint?: string
  readonly onSubmit: (input: ProductInput) => Promise<unknown>
}

const words = texts.products
const SUGGESTED_MAX = '200'

export function ProductForm({ first, submit, hint, onSubmit }: ProductFormProps) {
  const [name, setName] = useState(first.name)
  const [apis, setApis] = useState(first.apis)
  const [next, setNext] = useState('')
  // A name that was typed and not added is meant.
  const all = next.trim() === '' || apis.includes(next.trim()) ? apis : [...apis, next.trim()]
  const add = (): void => {
    setApis(all)
    setNext('')
  }
  return (
    <Form submit={submit} onSubmit={async () => onSubmit({ name, apis: all })}>
      {hint !== undefined && <p class="quiet">{hint}</p>}
      <TextField label={words.name} value={name} isRequired lengthMax={128} onChange={setName} />
      <fieldset class="plain">
        <legend>{words.apis}</legend>
        <ul class="chosen">
          {apis.map((api) => (
            <li key={api}>
              {api}{' '}
              <button type="button" onClick={() => setApis(apis.filter((each) => each !== api))}>
                {words.removeApi(api)}
              </button>
            </li>
          ))}
        </ul>
        <ApiField value={next} onChange={setNext} onAdd={add} />
      </fieldset>
    </Form>
  )
}

interface ApiFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly onAdd: () => void
}

/** Suggests the first APIs of the catalogue; any other name can be typed. */
function ApiField({ value, onChange, onAdd }: ApiFieldProps) {
  const id = useId()
  const { data } = useRead('/v1/apis', { query: { limit: SUGGESTED_MAX } })
  return (
    <div class="toolbar">
      <label for={id}>{words.addApi}</label>
      <input
        id={id}
        list={`${id}-names`}
        value={value}
        autocomplete="off"
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <datalist id={`${id}-names`}>
        {(data?.items ?? []).map((api) => (
          <option key={api.id} value={api.id} />
        ))}
      </datalist>
      <button type="button" disabled={value.trim() === ''} onClick={onAdd}>
        {words.add}
      </button>
    </div>
  )
}
