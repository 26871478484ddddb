/** The drawing of a chart: lines over time, on a canvas that no screen reader reads. */

import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Look } from './palette.ts'
import { toNumber } from './values.tsx'

export interface PlotOptions {
  readonly element: HTMLElement
  /** Milliseconds, ascending. */
  readonly times: readonly number[]
  readonly series: readonly {
    readonly name: string
    readonly values: readonly (number | null)[]
    readonly look: Look
  }[]
  readonly onCursor: (index: number | null) => void
}

export interface Plot {
  moveTo(index: number): void
  remove(): void
}

const HEIGHT = 220
const AXIS_WIDTH = 72

/** Up to this many values are points as well: a value between two gaps has no line. */
const POINTS_MAX = 62

function isSparse(values: readonly (number | null)[]): boolean {
  return values.filter((value) => value !== null).length <= POINTS_MAX
}

export function drawPlot({ element, times, series, onCursor }: PlotOptions): Plot {
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const line = { stroke: colour('--line'), width: 1 }
  const axis = { stroke: colour('--text-2'), grid: line, ticks: line }
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { setCursor: [({ cursor: { idx } }) => onCursor(idx ?? null)] },
      scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] } },
      axes: [axis, { ...axis, size: AXIS_WIDTH, values: (_, ticks) => ticks.map(toNumber) }],
      series: [
        {},
        ...series.map(({ look, name, values }) => ({
          label: name,
          stroke: colour(look.colour),
          width: 2,
          dash: [...look.dash],
          points: { show: isSparse(values), size: 6 },
        })),
      ],
    },
    [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])],
    element,
  )
  const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
  observer.observe(element)
  return {
    moveTo(index) {
      const time = times[index]
      if (time !== undefined) plot.setCursor({ left: plot.valToPos(time / 1_000, 'x'), top: 0 })
    },
    remove() {
      observer.disconnect()
      plot.destroy()
    },
  }
}
