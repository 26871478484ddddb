/** The fields of the rule for pages of other origins. */

import { useState } from 'preact/hooks'
import { CheckField, SelectField, TextAreaField, TextField } from '../../parts/fields.tsx'
import { texts } from '../../texts.ts'
import {
  modeOf,
  originsOf,
  toEntries,
  withMaxAge,
  withMode,
  withNames,
  type CorsMode,
  type CorsRule,
} from './cors-form.ts'

interface CorsProps {
  readonly value: CorsRule
  readonly onChange: (value: CorsRule) => void
  readonly faultAt: (pointer: string) => string | undefined
}

const words = texts.apiPolicy.cors

export function CorsFields({ value, onChange, faultAt }: CorsProps) {
  const mode = modeOf(value)
  return (
    <fieldset class="cors">
      <legend>{words.title}</legend>
      <SelectField
        label={words.origins}
        hint={words.modeHints[mode]}
        value={mode}
        onChange={(next) => onChange(withMode(value, next as CorsMode))}
        options={Object.entries(words.modes)}
      />
      {mode === 'listed' && value !== null && (
        <EntriesField
          label={words.listed}
          hint={words.listedHint}
          fault={faultAt('/cors/origins')}
          value={originsOf(value)}
          onChange={(origins) => onChange({ ...value, origins })}
        />
      )}
      {value !== null && <Rest value={value} onChange={onChange} faultAt={faultAt} />}
    </fieldset>
  )
}

function Rest({ value, onChange, faultAt }: CorsProps & { readonly value: NonNullable<CorsRule> }) {
  const { headers = [], exposeHeaders = [], credentials = false, maxAge } = value
  return (
    <>
      <EntriesField
        label={words.headers}
        hint={words.headersHint}
        fault={faultAt('/cors/headers')}
        value={headers}
        onChange={(names) => onChange(withNames(value, 'headers', names))}
      />
      <EntriesField
        label={words.exposed}
        hint={words.exposedHint}
        fault={faultAt('/cors/exposeHeaders')}
        value={exposeHeaders}
        onChange={(names) => onChange(withNames(value, 'exposeHeaders', names))}
      />
      {value.origins !== '*' && (
        <CheckField
          label={words.credentials}
          value={credentials}
          onChange={(next) => onChange({ ...value, credentials: next })}
        />
      )}
      <TextField
        type="number"
        label={words.maxAge}
        hint={words.maxAgeHint}
        fault={faultAt('/cors/maxAge')}
        value={maxAge === undefined ? '' : String(maxAge)}
        onChange={(seconds) => onChange(withMaxAge(value, seconds))}
      />
    </>
  )
}

interface EntriesProps {
  readonly label: string
  readonly hint: string
  readonly fault: string | undefined
  readonly value: readonly string[]
  readonly onChange: (value: readonly string[]) => void
}

/** Keeps the text as it is typed, such as an empty line, as long as it has the entries of the value. */
function EntriesField({ value, onChange, ...shown }: EntriesProps) {
  const [text, setText] = useState(value.join('\n'))
  const isSame = toEntries(text).join('\n') === value.join('\n')
  const change = (next: string): void => {
    setText(next)
    onChange(toEntries(next))
  }
  return <TextAreaField {...shown} value={isSame ? text : value.join('\n')} onChange={change} />
}
