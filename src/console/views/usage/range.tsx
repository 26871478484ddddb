/** The time that a view covers: a preset, or from and to in the zone of the reader. Both are part of the address. */

import { useId } from 'preact/hooks'
import { toShortTime } from '../../parts/values.tsx'
import { query, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import './range.css'

export interface Range {
  /** RFC 3339. */
  readonly from: string
  /** Empty: now. */
  readonly to: string
}

const words = texts.range
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS: Readonly<Record<string, number>> = { '7d': 7, '30d': 30, '90d': 90, '365d': 365 }
const DEFAULT = '30d'

/** Relative ranges begin at a whole hour or day, so that the address of an answer stays the same for a while. */
export function rangeOf(params: URLSearchParams, nowMs = Date.now()): Range {
  const from = toInstant(params.get('from'))
  if (from !== '') return { from, to: toInstant(params.get('to')) }
  const preset = params.get('range') ?? DEFAULT
  const month = new Date(nowMs)
  const startOf = (past: number): string =>
    new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() - past, 1)).toISOString()
  if (preset === 'month') return { from: startOf(0), to: '' }
  if (preset === 'lastMonth') return { from: startOf(1), to: startOf(0) }
  if (preset === '1d') return { from: toIso(floorTo(nowMs, HOUR_MS) - DAY_MS), to: '' }
  const days = DAYS[preset] ?? DAYS[DEFAULT] ?? 0
  return { from: toIso(floorTo(nowMs, DAY_MS) - (days - 1) * DAY_MS), to: '' }
}

export function endOf({ to }: Range): number {
  return to === '' ? Date.now() : Date.parse(to)
}

export function RangeFilter() {
  const params = query.value
  const range = rangeOf(params)
  const isCustom = toInstant(params.get('from')) !== ''
  const preset = isCustom ? 'custom' : (params.get('range') ?? DEFAULT)
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

/** Returns `''` for what is no time. */
function toInstant(text: string | null): string {
  const ms = text === null ? Number.NaN : Date.parse(text)
  return Number.isFinite(ms) ? toIso(ms) : ''
}

function toLocal(ms: number): string {
  const zoneMs = new Date(ms).getTimezoneOffset() * 60_000
  return toIso(ms - zoneMs).slice(0, 16)
}

function floorTo(ms: number, sizeMs: number): number {
  return Math.floor(ms / sizeMs) * sizeMs
}

function toIso(ms: number): string {
  return new Date(ms).toISOString()
}
