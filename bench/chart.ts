/** Line charts as SVG: a logarithmic x axis, one line per series with its name at the end. */

export interface Series {
  readonly name: string
  readonly color: string
  readonly dashed?: boolean
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

export interface Chart {
  readonly title: string
  readonly subtitle: string
  readonly xLabel: string
  readonly yLabel: string
  readonly xTicks: readonly { readonly value: number; readonly label: string }[]
  readonly yScale: 'linear' | 'log'
  readonly series: readonly Series[]
}

type Scale = (value: number) => number

const [WIDTH, HEIGHT] = [720, 400]
const PLOT = { left: 70, right: 555, top: 88, bottom: 340 }
const LABEL_GAP = 15

export function drawChart(chart: Chart): string {
  const xValues = chart.xTicks.map(({ value }) => value)
  const yTicks = ticksUpTo(Math.max(...chart.series.flatMap(({ points }) => points.map(({ y }) => y))), chart)
  const x = logScale(Math.min(...xValues), Math.max(...xValues), PLOT.left, PLOT.right)
  const [low, high] = [yTicks[0] ?? 0, yTicks.at(-1) ?? 1]
  const y = chart.yScale === 'log' ? logScale(low, high, PLOT.bottom, PLOT.top) : linearScale(high)
  const parts = [
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fcfcfa"/>`,
    text(PLOT.left - 46, 28, chart.title, 'font-size="17" font-weight="600" fill="#1f2328"'),
    text(PLOT.left - 46, 48, chart.subtitle, 'fill="#59636e"'),
    ...yTicks.flatMap((value) => [
      `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(value)}" y2="${y(value)}" stroke="#e2e4e0"/>`,
      text(PLOT.left - 8, y(value) + 4, value.toLocaleString('en'), 'text-anchor="end" fill="#59636e"'),
    ]),
    ...chart.xTicks.flatMap(({ value, label }) => [
      `<line x1="${x(value)}" x2="${x(value)}" y1="${PLOT.bottom}" y2="${PLOT.bottom + 5}" stroke="#8c959f"/>`,
      text(x(value), PLOT.bottom + 20, label, 'text-anchor="middle" fill="#59636e"'),
    ]),
    text((PLOT.left + PLOT.right) / 2, HEIGHT - 16, chart.xLabel, 'text-anchor="middle" fill="#1f2328"'),
    text(PLOT.left - 46, 72, chart.yLabel, 'font-size="11" fill="#59636e"'),
    ...drawSeries(chart.series, x, y),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" font-size="12">\n${parts.join('\n')}\n</svg>\n`
}

function drawSeries(series: readonly Series[], x: Scale, y: Scale): string[] {
  const ends = series
    .map((line) => ({ line, at: y(line.points.at(-1)?.y ?? NaN) }))
    .sort((a, b) => a.at - b.at)
    .reduce<{ line: Series; at: number }[]>((placed, { line, at }) => {
      const above = placed.at(-1)?.at ?? -Infinity
      return [...placed, { line, at: Math.max(at, above + LABEL_GAP) }]
    }, [])
  return ends.flatMap(({ line: { name, color, dashed, points }, at }) => [
    `<polyline fill="none" stroke="${color}" stroke-width="2"${dashed ? ' stroke-dasharray="6 4"' : ''} points="${points
      .map((point) => `${round(x(point.x))},${round(y(point.y))}`)
      .join(' ')}"/>`,
    ...points.map((point) => `<circle cx="${round(x(point.x))}" cy="${round(y(point.y))}" r="3" fill="${color}"/>`),
    text(PLOT.right + 10, at + 4, name, `fill="${color}" font-weight="600"`),
  ])
}

/** Powers of ten from 10 on a logarithmic axis; about five round steps from 0 on a linear one. */
function ticksUpTo(max: number, { yScale }: Chart): number[] {
  if (yScale === 'log') {
    return Array.from({ length: Math.max(2, Math.ceil(Math.log10(max))) }, (_, exponent) => 10 ** (exponent + 1))
  }
  const power = 10 ** Math.floor(Math.log10(max / 5))
  const step = power * ([1, 2, 5, 10].find((factor) => power * factor * 5 >= max) ?? 10)
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => index * step)
}

function linearScale(max: number): Scale {
  return (value) => PLOT.bottom - (value / max) * (PLOT.bottom - PLOT.top)
}

function logScale(min: number, max: number, from: number, to: number): Scale {
  return (value) => round(from + (Math.log(value / min) / Math.log(max / min)) * (to - from))
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function text(x: number, y: number, content: string, attributes: string): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped}</text>`
}
