/** Values as people read them: times in their zone, numbers with separators, ids that can be copied. */

import { signal } from '@preact/signals'
import { DAY_MS } from '../../../foundation/domain/calendar.ts'
import { texts } from '../texts.ts'
import { useCopy } from './use-copy.ts'

const ID_SHOWN_MAX = 16
const number = new Intl.NumberFormat('en')
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const dateTime = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
const UNITS = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

export function toNumber(value: number): string {
  return number.format(value)
}

/** An exact decimal number stays one: it is no number of JavaScript on the way. */
export function toAmount(amount: string, currency: string): string {
  const [, sign = '', whole = '0', rest = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(amount) ?? []
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${sign}${grouped}${rest}${currency === '' ? '' : ` ${currency}`}`
}

const NOW_EVERY_MS = 5_000
const ticks = signal(0)
let isTicking = false

/** The time now. A component that calls it is rendered again every few seconds while the page is visible. */
function nowMs(): number {
  if (!isTicking) {
    isTicking = true
    setInterval(() => {
      if (!document.hidden) ticks.value++
    }, NOW_EVERY_MS)
  }
  void ticks.value
  return Date.now()
}

/** Relative up to a day, then the date; UTC on hover. It goes on while the page is open. */
export function Time({ at }: { readonly at: string }) {
  const ms = Date.parse(at)
  return <Moment at={at}>{toTime(ms, nowMs())}</Moment>
}

/** A time in the words of its place; UTC on hover. */
export function Moment({ at, children }: { readonly at: string; readonly children: string }) {
  return (
    <time dateTime={at} title={toUtc(at)}>
      {children}
    </time>
  )
}

function toUtc(at: string): string {
  return texts.units.utc(at.slice(0, 19).replace('T', ' '))
}

/** The date and the time in the zone of the reader. */
export function toShortTime(ms: number): string {
  return dateTime.format(ms)
}

function toTime(ms: number, atMs: number): string {
  const past = ms - atMs
  if (Math.abs(past) >= DAY_MS) return dateTime.format(ms)
  const [unit, size] = UNITS.find(([, each]) => Math.abs(past) >= each) ?? ['second', 1_000]
  return relative.format(Math.round(past / size), unit)
}

interface IdProps {
  readonly value: string
  /** The text of the button; default: the value, shortened in the middle. */
  readonly shown?: string
}

/** A click copies all of it. */
export function Id({ value, shown = shorten(value) }: IdProps) {
  const { outcome, copy } = useCopy(value)
  return (
    <button type="button" class="id" title={`${texts.units.copy} ${value}`} onClick={copy}>
      {outcome ?? shown}
    </button>
  )
}

function shorten(value: string): string {
  return value.length <= ID_SHOWN_MAX ? value : `${value.slice(0, 8)}…${value.slice(-6)}`
}

const SIGNS: ReadonlyMap<string, string> = new Map([
  ['Critical', '▲'],
  ['Warning', '◆'],
  ['Info', '●'],
])

interface SeverityProps {
  readonly of: string
  /** Default: the severity itself. */
  readonly word?: string
}

export function Severity({ of, word = of }: SeverityProps) {
  return (
    <span class={`severity ${of.toLowerCase()}`}>
      <span aria-hidden="true">{SIGNS.get(of) ?? '●'}</span> {word}
    </span>
  )
}

/** States of the API and words of the catalogue look the same. */
export function State({ of }: { readonly of: string }) {
  return <span class="state">{of.charAt(0).toUpperCase() + of.slice(1)}</span>
}
