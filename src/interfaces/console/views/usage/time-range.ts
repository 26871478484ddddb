/** The time that a view covers, from the address. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../foundation/domain/calendar.ts'

export interface Range {
  /** RFC 3339. */
  readonly from: string
  /** Empty: now. */
  readonly to: string
}

const DAYS: ReadonlyMap<string, number> = new Map([
  ['7d', 7],
  ['30d', 30],
  ['90d', 90],
  ['365d', 365],
])
export const DEFAULT_PRESET = '30d'

/**
 * Relative ranges begin at a whole minute, hour or day, so that the address of an answer stays the same for a while. `fallback`: the preset of an
 * address that has none.
 */
export function rangeOf(params: URLSearchParams, fallback = DEFAULT_PRESET, nowMs = Date.now()): Range {
  const from = toInstant(params.get('from'))
  if (from !== '') return { from, to: toInstant(params.get('to')) }
  const preset = params.get('range') ?? fallback
  const month = new Date(nowMs)
  const startOf = (past: number): string =>
    new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() - past, 1)).toISOString()
  if (preset === 'month') return { from: startOf(0), to: '' }
  if (preset === 'lastMonth') return { from: startOf(1), to: startOf(0) }
  if (preset === '1h') return { from: toIso(floorTo(nowMs, MINUTE_MS) - HOUR_MS), to: '' }
  if (preset === '1d') return { from: toIso(floorTo(nowMs, HOUR_MS) - DAY_MS), to: '' }
  const days = DAYS.get(preset) ?? DAYS.get(DEFAULT_PRESET) ?? 0
  return { from: toIso(floorTo(nowMs, DAY_MS) - (days - 1) * DAY_MS), to: '' }
}

export function endOf({ to }: Range): number {
  return to === '' ? Date.now() : Date.parse(to)
}

/** Returns `''` for what is no time. */
export function toInstant(text: string | null): string {
  const ms = text === null ? Number.NaN : Date.parse(text)
  return Number.isFinite(ms) ? toIso(ms) : ''
}

function floorTo(ms: number, sizeMs: number): number {
  return Math.floor(ms / sizeMs) * sizeMs
}

export function toIso(ms: number): string {
  return new Date(ms).toISOString()
}
