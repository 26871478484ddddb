/** Fields of forms: a visible label, and a hint that screen readers read with the field. */

import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: string
  /** Why the service has refused the value. */
  readonly fault?: string | undefined
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
  const { label, hint, fault, value, onChange, isRequired = false, type = 'text', lengthMax, placeholder } = props
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint} fault={fault}>
      <input
        id={id}
        // Preact types the attributes by the literal of the type.
        type={type as 'text'}
        value={value}
        required={isRequired}
        maxLength={lengthMax}
        placeholder={placeholder}
        autocomplete="off"
        {...describedBy(id, hint, fault)}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Labelled>
  )
}

export function TextAreaField({ label, hint, fault, value, onChange, isRequired = false }: FieldProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint} fault={fault}>
      <textarea
        id={id}
        rows={4}
        value={value}
        required={isRequired}
        {...describedBy(id, hint, fault)}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Labelled>
  )
}

interface SelectFieldProps extends FieldProps {
  /** Value and name. */
  readonly options: readonly (readonly [string, string])[]
}

export function SelectField({ label, hint, fault, value, onChange, options }: SelectFieldProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint} fault={fault}>
      <select
        id={id}
        value={value}
        {...describedBy(id, hint, fault)}
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
  readonly fault: string | undefined
  readonly children: ComponentChildren
}

function describedBy(id: string, hint: string | undefined, fault: string | undefined) {
  const ids = [...(hint === undefined ? [] : [`${id}-hint`]), ...(fault === undefined ? [] : [`${id}-fault`])]
  return {
    'aria-describedby': ids.length === 0 ? undefined : ids.join(' '),
    'aria-invalid': fault === undefined ? undefined : true,
  }
}

function Labelled({ id, label, hint, fault, children }: LabelledProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <span id={`${id}-hint`} class="quiet">
          {hint}
        </span>
      )}
      {fault !== undefined && <Fault id={`${id}-fault`}>{fault}</Fault>}
    </div>
  )
}

/** Beside the field whose value the service has refused. */
export function Fault({ id, children }: { readonly id?: string; readonly children: string }) {
  return (
    <span id={id} class="fault" role="alert">
      <bdi>{children}</bdi>
    </span>
  )
}
