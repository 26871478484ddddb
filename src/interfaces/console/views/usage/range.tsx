/** Chooses the time that a view covers: a preset, or from and to in the zone of the reader. Both are part of the address. */

import { useId } from 'preact/hooks'
import { toShortTime } from '../../parts/values.tsx'
import { query, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { DEFAULT_PRESET, endOf, rangeOf, toInstant, toIso } from './time-range.ts'
import './range.css'

const words = texts.range

interface RangeFilterProps {
  /** The preset of an address that has none. */
  readonly fallback?: string
}

export function RangeFilter({ fallback = DEFAULT_PRESET }: RangeFilterProps) {
  const params = query.value
  const range = rangeOf(params, fallback)
  const isCustom = toInstant(params.get('from')) !== ''
  const preset = isCustom ? 'custom' : (params.get('range') ?? fallback)
  const choose = (value: string): void => {
    if (value !== 'custom') return setQuery({ range: value, from: '', to: '', cursor: '' })
    setQuery({ range: '', from: range.from, to: toIso(endOf(range)), cursor: '' })
  }
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
  const end = range.to === '' ? words.now : toShortTime(Date.parse(range.to))
  return (
    <>
      <label>
        {words.label}
        <select value={preset} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {Object.entries(words.presets).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {isCustom && <Instant name="from" label={words.from} value={range.from} />}
      {isCustom && <Instant name="to" label={words.to} value={range.to} />}
      <span class="quiet range">{words.shown(toShortTime(Date.parse(range.from)), end, zone)}</span>
    </>
  )
}

interface InstantProps {
  readonly name: 'from' | 'to'
  readonly label: string
  readonly value: string
}

function Instant({ name, label, value }: InstantProps) {
  const id = useId()
  return (
    <label for={id}>
      {label}
      <input
        id={id}
        type="datetime-local"
        value={value === '' ? '' : toLocal(Date.parse(value))}
        onChange={({ currentTarget }) => {
          const ms = new Date(currentTarget.value).getTime()
          if (Number.isFinite(ms)) setQuery({ [name]: toIso(ms), cursor: '' })
        }}
      />
    </label>
  )
}

function toLocal(ms: number): string {
  const zoneMs = new Date(ms).getTimezoneOffset() * 60_000
  return toIso(ms - zoneMs).slice(0, 16)
}
