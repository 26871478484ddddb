/** The calls of a time as one line. */

import { Chart } from '../../parts/chart.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { texts } from '../../texts.ts'
import { toSeries, useUsage } from './series.ts'
import { rangeOf } from './time-range.ts'

interface CallChartProps {
  readonly filters: Readonly<Record<string, string>>
  readonly preset: string
  /** Instead of a chart without calls. */
  readonly none: string
}

export function CallChart({ filters, preset, none }: CallChartProps) {
  const range = rangeOf(new URLSearchParams(), preset)
  const usage = useUsage({ range, filters, by: null })
  if (usage === null) return <Skeleton />
  if (usage.total.length === 0) return <p class="quiet">{none}</p>
  const presets: Readonly<Record<string, string>> = texts.range.presets
  return <Chart title={texts.usage.callsOf(presets[preset] ?? '')} {...toSeries(usage, 'calls')} />
}
