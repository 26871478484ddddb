/**
 * Renders a view of the demo as lines.
 *
 * Colour only repeats the meaning of a word. Names are untrusted input: control characters are shown as `?`,
 * never sent to a terminal.
 */

import type { DemoView, RiskRow } from './demo-view.ts'

export interface ScreenOptions {
  readonly columns: number
  readonly colour: boolean
}

const NAME_WIDTH = 24
const RISKS_SHOWN = 8
const BAR_WIDTH = 20
const COLOURS: Readonly<Record<RiskRow['severity'], string>> = { Critical: '31', Warning: '33', Info: '36' }

export function drawScreen(view: DemoView, { columns, colour }: ScreenOptions): string[] {
  const paint = (code: string, text: string): string => (colour ? `\x1b[${code}m${text}\x1b[0m` : text)
  const head = (name: string, rest: string): string => paint('1', (name.padEnd(NAME_WIDTH) + rest).slice(0, columns))
  const line = (text: string): string => plain(text).slice(0, columns)
  const rateMax = Math.max(1, ...view.outcomes.map(({ perSecond }) => perSecond))

  return [
    head(`tollgate  ${clock(view.elapsedSeconds)} of ${clock(view.secondsMax)}`, `  ${plain(view.gatewayUrl)}`),
    '',
    head('calls', '  per second     total'),
    ...view.outcomes.map(({ outcome, perSecond, total }) =>
      line(
        `${outcome.padEnd(NAME_WIDTH)}${perSecond.toFixed(1).padStart(12)}${whole(total).padStart(10)}  ${bar(perSecond / rateMax)}`,
      ),
    ),
    '',
    head('customer', '       units     calls          amount'),
    ...view.customers.map(({ name, units, calls, amount, currency }) =>
      line(
        `${fit(name)}${whole(units).padStart(12)}${whole(calls).padStart(10)}${`${amount} ${currency}`.padStart(16)}`,
      ),
    ),
    ...(view.customers.length === 0 ? ['the first window is still open'] : []),
    '',
    head('open risks', `  ${view.risks.length} episodes, ${view.events} events`),
    ...view.risks
      .slice(0, RISKS_SHOWN)
      .map((risk) => paint(COLOURS[risk.severity], line(`${risk.severity.padEnd(10)}${textOf(risk)}`))),
    ...(view.risks.length > RISKS_SHOWN ? [`… and ${view.risks.length - RISKS_SHOWN} more`] : []),
    ...(view.trouble === '' ? [] : ['', line(`! ${view.trouble}`)]),
  ]
}

/** One line, for output that cannot be redrawn. */
export function drawLine({ elapsedSeconds, outcomes, risks, customers }: DemoView): string {
  const calls = outcomes.map(({ outcome, total }) => `${outcome} ${whole(total)}`).join(', ') || 'no calls'
  const units = customers.reduce((sum, customer) => sum + customer.units, 0)
  const worst = risks[0] ? `, worst ${risks[0].severity} ${risks[0].type} by ${risks[0].who}` : ''
  return plain(`${clock(elapsedSeconds)}  ${calls}; ${whole(units)} units; ${risks.length} open risks${worst}`)
}

function textOf({ type, who, operation, count }: RiskRow): string {
  return `${type.padEnd(22)}${fit(who)}${operation.padEnd(20)} ${whole(count)} in the window`
}

function clock(seconds: number): string {
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}

function fit(name: string): string {
  return name.length < NAME_WIDTH ? name.padEnd(NAME_WIDTH) : `${name.slice(0, NAME_WIDTH - 2)}… `
}

function bar(share: number): string {
  return '█'.repeat(Math.round(share * BAR_WIDTH))
}

/** Formats `1234567` as `1,234,567`, whatever the locale of the machine. */
function whole(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')
}

function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?')
}
