/** Filters of a list. Each is part of the address; a change goes back to the first page. */

import type { ComponentChildren } from 'preact'
import { query, setQuery } from '../router.ts'

export function Filters({ children }: { readonly children: ComponentChildren }) {
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  )
}

interface SelectFilterProps {
  /** The name of the parameter of the address. */
  readonly name: string
  readonly label: string
  /** Value and name. The first one is the default; an empty value removes the filter. */
  readonly options: readonly (readonly [string, string])[]
}

export function SelectFilter({ name, label, options }: SelectFilterProps) {
  const value = query.value.get(name) ?? options[0]?.[0] ?? ''
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value, cursor: '' })}>
        {options.map(([each, title]) => (
          <option key={each} value={each}>
            {title}
          </option>
        ))}
      </select>
    </label>
  )
}

interface CheckFilterProps {
  readonly name: string
  /** The value of the parameter while the box is checked. */
  readonly value: string
  readonly label: string
}

export function CheckFilter({ name, value, label }: CheckFilterProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={query.value.get(name) === value}
        onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.checked ? value : '', cursor: '' })}
      />
      {label}
    </label>
  )
}

interface TextFilterProps {
  readonly name: string
  readonly label: string
  readonly placeholder?: string
}

/** Applied with Enter, and when the field is left. `/` moves the focus to the first one of a view. */
export function TextFilter({ name, label, placeholder }: TextFilterProps) {
  const apply = (value: string): void => setQuery({ [name]: value.trim(), cursor: '' })
  return (
    <label>
      {label}
      <input
        type="search"
        data-search
        value={query.value.get(name) ?? ''}
        placeholder={placeholder}
        onChange={({ currentTarget }) => apply(currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && apply(currentTarget.value)}
      />
    </label>
  )
}
