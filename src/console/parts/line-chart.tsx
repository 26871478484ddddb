/** A chart of up to five series over time, with the same figures as a table. Gaps stay gaps. */

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { texts } from '../texts.ts'
import { Table } from './table.tsx'
import { Time, toNumber } from './values.tsx'

export interface LineChartProps {
  readonly title: string
  /** Unit of the values: ms, %. */
  readonly unit: string
  /** Milliseconds, ascending. */
  readonly times: readonly number[]
  /** Span of the chart; default: from the first time to the last. */
  readonly span?: readonly [fromMs: number, toMs: number]
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
}

const HEIGHT = 200
const COLOURS = ['--accent', '--success', '--warning', '--critical', '--info']
/** Lines differ also without their colours. */
const DASHES = [[], [6, 4], [2, 3], [10, 4, 2, 4], [1, 4]]

export function LineChart({ title, unit, times, span, series }: LineChartProps) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const colour = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim()
    const axis = { stroke: colour('--text-2'), grid: { stroke: colour('--line') }, ticks: { stroke: colour('--line') } }
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        scales: {
          ...(span !== undefined && { x: { range: [span[0] / 1_000, span[1] / 1_000] } }),
          y: { range: (_, __, max) => [0, Math.max(1, max)] },
        },
        axes: [axis, { ...axis, size: 72, values: (_, ticks) => ticks.map((tick) => `${toNumber(tick)} ${unit}`) }],
        series: [
          {},
          ...series.map(({ name }, index) => ({
            label: name,
            stroke: colour(COLOURS[index] ?? '--text-2'),
            dash: DASHES[index] ?? [],
            width: 2,
            value: (_: uPlot, value: number | null) => (value === null ? '–' : `${toNumber(value)} ${unit}`),
          })),
        ],
      },
      [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])],
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times.join(), span?.join(), JSON.stringify(series)])
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <div ref={place} class="chart" aria-hidden="true" />
      <details>
        <summary>{texts.states.table}</summary>
        <Table
          caption={title}
          keyOf={({ time }) => String(time)}
          rows={times.map((time, index) => ({ time, index }))}
          columns={[
            { title: texts.units.time, cell: ({ time }) => <Time at={new Date(time).toISOString()} /> },
            ...series.map(({ name, values }) => ({
              title: name,
              isNumber: true,
              cell: ({ index }: { readonly index: number }) => toCell(values[index] ?? null, unit),
            })),
          ]}
        />
      </details>
    </figure>
  )
}

function toCell(value: number | null, unit: string): string {
  return value === null ? '–' : `${toNumber(value)} ${unit}`
}
