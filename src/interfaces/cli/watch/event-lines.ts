/** Lines for people: a risk, a call, and a step of a programme. Colour only repeats the meaning of a word. */

import { paint, paintWord } from '../output/paint.ts'
import { fit, flow, padEnd, padStart, toPlain } from '../output/plain-text.ts'
import type { Row } from '../output/table.ts'

export interface LineOptions {
  readonly colour: boolean
  readonly columns: number
}

const MESSAGE_MAX = 400
const COLUMNS_WIDE = 100
const PATH_WIDE = 32
const PATH_NARROW = 22

export function riskLine(risk: Row, { colour, columns }: LineOptions): string {
  const { severity, phase, type, api, operation, count, lastSeen, attributedTo, message } = risk
  const name = (attributedTo as { readonly name?: unknown } | null)?.name
  const word = toPlain(String(severity ?? ''))
  const parts = [
    timeOf(lastSeen),
    padEnd(word, 8),
    padEnd(toPlain(String(phase ?? '')), 11),
    padEnd(toPlain(String(type ?? '')), 21),
    toPlain([api, operation].filter((part) => part !== '' && part !== undefined).join(' ')),
    toPlain(String(name ?? '')),
    `×${Number(count) || 0}`,
    fit(toPlain(String(message ?? '')), MESSAGE_MAX),
  ]
  const line = flow(
    parts.filter((part) => part !== ''),
    columns,
  )
  return colour ? line.replace(word, paintWord(word)) : line
}

/** `endpoints` has the method and the path of each operation. */
export function requestLine(
  request: Row,
  { colour, columns }: LineOptions,
  endpoints: ReadonlyMap<string, string> = new Map(),
): string {
  const { time, api, operation, status, outcome, customerName, durationMs, resourceUnits, detail } = request
  const called = endpoints.get(String(operation)) ?? `${String(api ?? '')} ${String(operation || '-')}`
  const code = String(status ?? '')
  const units = Number(resourceUnits) || 0
  const parts = [
    timeOf(time),
    code,
    padEnd(fit(toPlain(called), MESSAGE_MAX), columns < COLUMNS_WIDE ? PATH_NARROW : PATH_WIDE),
    padStart(units === 1 ? '1 unit ' : `${units} units`, 9),
    padStart(`${(Number(durationMs) || 0).toFixed(1)} ms`, 10),
    toPlain(String(customerName || 'anonymous')),
    ...(outcome === 'served' ? [] : [toPlain(String(outcome))]),
    ...(typeof detail === 'string' ? [fit(toPlain(detail), MESSAGE_MAX)] : []),
  ]
  const line = flow(parts, columns)
  return colour ? line.replace(`  ${code}  `, `  ${paint(styleOf(Number(status)), code)}  `) : line
}

export function stepLine({ number, name, status, errors }: Row, { colour }: Pick<LineOptions, 'colour'>): string {
  const word = toPlain(String(status ?? ''))
  const head = `${padStart(String(number ?? ''), 2)}  ${padEnd(toPlain(String(name ?? '')), 27)}  ${colour ? paintWord(word) : word}`
  const lines = Array.isArray(errors) ? errors.map((error: unknown) => `      ${toPlain(textOf(error))}`) : []
  return [head, ...lines].join('\n')
}

function textOf(error: unknown): string {
  if (typeof error === 'string') return error
  const { detail, message } = (error ?? {}) as { readonly detail?: unknown; readonly message?: unknown }
  return String(detail ?? message ?? JSON.stringify(error))
}

function styleOf(status: number): 'green' | 'yellow' | 'red' {
  if (status < 400) return 'green'
  return status < 500 ? 'yellow' : 'red'
}

function timeOf(time: unknown): string {
  return toPlain(String(time ?? '')).slice(11, 19)
}
