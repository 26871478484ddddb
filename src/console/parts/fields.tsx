/** Fields of forms: a visible label, and a hint that screen readers read with the field. */

import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isRequired?: boolean
}

interface TextFieldProps extends FieldProps {
  readonly type?: 'text' | 'number' | 'url' | 'email' | 'password' | 'date' | 'month' | 'datetime-local'
  readonly lengthMax?: number
  readonly placeholder?: string
}

export function TextField(props: TextFieldProps) {
  const { label, hint, value, onChange, isRequired = false, type = 'text', lengthMax, placeholder } = props
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <input
        id={id}
        // Preact types the attributes by the literal of the type.
        type={type as 'text'}
        value={value}
        required={isRequired}
        maxLength={lengthMax}
        placeholder={placeholder}
        autocomplete="off"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Labelled>
  )
}

export function TextAreaField({ label, hint, value, onChange, isRequired = false }: FieldProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <textarea
        id={id}
        rows={4}
        value={value}
        required={isRequired}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Labelled>
  )
}

interface SelectFieldProps extends FieldProps {
  /** Value and name. */
  readonly options: readonly (readonly [string, string])[]
}

export function SelectField({ label, hint, value, onChange, options }: SelectFieldProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <select
        id={id}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

interface CheckFieldProps {
  readonly label: string
  readonly value: boolean
  readonly onChange: (value: boolean) => void
}

export function CheckField({ label, value, onChange }: CheckFieldProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
      {label}
    </label>
  )
}

interface LabelledProps {
  readonly id: string
  readonly label: string
  readonly hint: string | undefined
  readonly children: ComponentChildren
}

function Labelled({ id, label, hint, children }: LabelledProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <span id={`${id}-hint`} class="quiet">
          {hint}
        </span>
      )}
    </div>
  )
}
