/** A filter by time: entered in the zone of the reader, and in UTC in the address. */

import { query, setQuery } from '../../router.ts'

interface TimeFilterProps {
  readonly name: string
  readonly label: string
}

const MINUTE_LENGTH = 16

export function TimeFilter({ name, label }: TimeFilterProps) {
  const apply = (value: string): void =>
    setQuery({ [name]: value === '' ? '' : new Date(value).toISOString(), cursor: '' })
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        value={toLocal(query.value.get(name) ?? '')}
        onChange={({ currentTarget }) => apply(currentTarget.value)}
      />
    </label>
  )
}

/** Returns `''` for what is no time: an address can be written by hand. */
function toLocal(time: string): string {
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, MINUTE_LENGTH)
}
