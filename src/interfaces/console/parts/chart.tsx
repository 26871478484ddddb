/**
 * A chart over time in the zone of the reader, with exact values on hover and by the arrow keys, and the same figures as a table and
 * as CSV.
 */

import { useEffect, useRef, useState } from 'preact/hooks'
import { toCsv } from '../../platform/csv.ts'
import { texts } from '../texts.ts'
import { drawPlot, type Plot } from './chart-plot.ts'
import { saveText } from './download.ts'
import { looksOf, OTHERS_LOOK, type Look } from './palette.ts'
import { Table } from './table.tsx'
import { toNumber, toShortTime } from './values.tsx'

export interface Series {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** The exact values with their units, if a number does not hold them. */
  readonly shown?: readonly string[]
  /** The sum of what has no series of its own. */
  readonly isOthers?: boolean
}

export interface ChartProps {
  readonly title: string
  /** Starts of the intervals in milliseconds, ascending. */
  readonly times: readonly number[]
  /** At most six. */
  readonly series?: readonly Series[]
  /** One series without a name. */
  readonly values?: readonly number[]
  /** Unit of the values: calls, ms, EUR. */
  readonly unit?: string
}

const words = texts.chart
const NOTHING: readonly Series[] = []

export function Chart({ title, times, values, series = NOTHING, unit = words.calls }: ChartProps) {
  const all = values === undefined ? series : [{ name: unit, values }]
  const looks = useLooks(all)
  const [at, setAt] = useState<number | null>(null)
  const { place, plot } = usePlot(times, all, looks, setAt)
  const text = (one: Series, index: number): string => toText(one, index, unit)
  const move = (event: KeyboardEvent): void => {
    const next = nextIndex(event.key, at, times.length)
    if (next === null) return
    event.preventDefault()
    setAt(next)
    plot.current?.moveTo(next)
  }
  const shownAt = Math.min(at ?? lastWith(all), times.length - 1)
  const time = toShortTime(times[shownAt] ?? 0)
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <Legend all={all} looks={looks} time={time} text={(one) => text(one, shownAt)} />
      <div
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={words.cursor(title)}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={Math.max(0, shownAt)}
        aria-valuetext={[time, ...all.map((one) => `${one.name} ${text(one, shownAt)}`)].join('; ')}
        onKeyDown={move}
      >
        <div ref={place} aria-hidden="true" />
      </div>
      <Figures title={title} times={times} all={all} text={text} />
    </figure>
  )
}

function useLooks(all: readonly Series[]): readonly Look[] {
  const looks = looksOf(all.map(({ name }) => name))
  return looks.map((look, index) => (all[index]?.isOthers === true ? OTHERS_LOOK : look))
}

/** Draws again if the data change, or the theme. */
function usePlot(
  times: readonly number[],
  all: readonly Series[],
  looks: readonly Look[],
  onCursor: (index: number | null) => void,
) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | null>(null)
  const [theme, setTheme] = useState(0)
  useEffect(() => {
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const change = (): void => setTheme((number) => number + 1)
    scheme.addEventListener('change', change)
    return () => scheme.removeEventListener('change', change)
  }, [])
  const key = JSON.stringify([times, all.map(({ name, values }) => [name, values])])
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const series = all.map(({ name, values }, index) => ({ name, values, look: looks[index] ?? OTHERS_LOOK }))
    plot.current = drawPlot({ element, times, series, onCursor })
    return () => plot.current?.remove()
  }, [key, theme])
  return { place, plot }
}

/** Returns the index of the last time for which there is a value. */
function lastWith(all: readonly Series[]): number {
  const last = all.map(({ values }) => values.findLastIndex((value) => value !== null))
  return Math.max(0, ...last)
}

/** Returns null for a key that moves nothing. */
function nextIndex(key: string, at: number | null, length: number): number | null {
  const last = length - 1
  const now = at ?? last
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1 },
    ...{ PageDown: now - 10, PageUp: now + 10, Home: 0, End: last },
  }
  const next = steps[key]
  return next === undefined || length === 0 ? null : Math.max(0, Math.min(last, next))
}

function toText({ values, shown }: Series, index: number, unit: string): string {
  const value = values[index]
  if (shown?.[index] !== undefined) return shown[index]
  return value === null || value === undefined ? words.none : `${toNumber(value)} ${unit}`
}

interface LegendProps {
  readonly all: readonly Series[]
  readonly looks: readonly Look[]
  readonly time: string
  readonly text: (one: Series) => string
}

/** The names, with the values at the cursor. The slider says them to screen readers. */
function Legend({ all, looks, time, text }: LegendProps) {
  return (
    <div class="legend">
      <span class="quiet">{time}</span>
      <ul>
        {all.map((one, index) => (
          <li key={one.name}>
            <svg width="28" height="8" aria-hidden="true" class={looks[index]?.colour.slice(2)}>
              <line x1="0" y1="4" x2="24" y2="4" stroke-width="3" stroke-dasharray={looks[index]?.dash.join(' ')} />
            </svg>
            <bdi>{one.name}</bdi> <strong>{text(one)}</strong>
          </li>
        ))}
      </ul>
    </div>
  )
}

interface FiguresProps {
  readonly title: string
  readonly times: readonly number[]
  readonly all: readonly Series[]
  readonly text: (one: Series, index: number) => string
}

function Figures({ title, times, all, text }: FiguresProps) {
  const [isOpen, setOpen] = useState(false)
  const save = (): void => {
    const columns = ['time', ...all.map((_, index) => String(index))]
    const rows = times.map((time, index) => ({
      time: new Date(time).toISOString(),
      ...Object.fromEntries(all.map((one, position) => [String(position), one.shown?.[index] ?? one.values[index]])),
    }))
    const head = { time: 'time', ...Object.fromEntries(all.map(({ name }, position) => [String(position), name])) }
    saveText(`${title}.csv`, toCsv(columns, [head, ...rows]).replace(/^[^\n]*\n/, ''))
  }
  return (
    <div class="toolbar">
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {words.table}
      </button>
      <button type="button" onClick={save}>
        {words.csv}
      </button>
      {isOpen && (
        <Table
          caption={title}
          keyOf={(index) => String(times[index])}
          rows={times.map((_, index) => index)}
          columns={[
            { title: words.time, cell: (index) => <span class="nowrap">{toShortTime(times[index] ?? 0)}</span> },
            ...all.map((one) => ({ title: one.name, isNumber: true, cell: (index: number) => text(one, index) })),
          ]}
        />
      )}
    </div>
  )
}
