/** A chart of one series over days, with the same figures as a table. */

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { Table } from './table.tsx'
import { toNumber } from './values.tsx'

export interface ChartProps {
  readonly title: string
  /** Milliseconds, ascending. */
  readonly times: readonly number[]
  readonly values: readonly number[]
}

const HEIGHT = 200

export function Chart({ title, times, values }: ChartProps) {
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
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
        legend: { show: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max)] } },
        axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map(toNumber) }],
        series: [{}, { stroke: colour('--accent'), fill: colour('--accent-quiet'), width: 2 }],
      },
      [times.map((ms) => ms / 1_000), [...values]],
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times.join(), values.join()])
  const rows = times.map((time, index) => ({
    day: new Date(time).toISOString().slice(0, 10),
    value: values[index] ?? 0,
  }))
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <div ref={place} class="chart" aria-hidden="true" />
      <details>
        <summary>Table</summary>
        <Table
          caption={title}
          keyOf={({ day }) => day}
          rows={rows}
          columns={[
            { title: 'Day', cell: ({ day }) => day },
            { title: 'Calls', isNumber: true, cell: ({ value }) => toNumber(value) },
          ]}
        />
      </details>
    </figure>
  )
}
