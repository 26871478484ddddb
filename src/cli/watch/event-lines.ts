/** Lines for people: a risk, a call, and a step of a programme. Colour only repeats the meaning of a word. */

import { paint, paintWord } from '../output/paint.ts'
import { fit, padEnd, padStart, toPlain } from '../output/plain-text.ts'
import type { Row } from '../output/table.ts'

export interface LineOptions {
  readonly colour: boolean
  readonly columns: number
}

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
    toPlain(String(message ?? '')),
  ]
  const line = fit(parts.join('  '), columns)
  return colour ? line.replace(word, paintWord(word)) : line
}

/** `endpoints` has the method and the path of each operation. */
export function requestLine(
  request: Row,
  { colour, columns }: LineOptions,
  endpoints: ReadonlyMap<string, string> = new Map(),
): string {
  const { time, api, operation, status, outcome, customerName, durationMs, resourceUnits } = request
  const called = endpoints.get(String(operation)) ?? `${String(api ?? '')} ${String(operation || '-')}`
  const code = String(status ?? '')
  const reason = outcome === 'served' ? '' : `  ${toPlain(String(outcome))}`
  const line = fit(
    [
      timeOf(time),
      code,
      padEnd(toPlain(called), 32),
      padStart(`${Number(resourceUnits) || 0} units`, 10),
      padStart(`${(Number(durationMs) || 0).toFixed(1)} ms`, 11),
      toPlain(String(customerName || 'anonymous')),
    ].join('  ') + reason,
    columns,
  )
  return colour ? line.replace(`  ${code}  `, `  ${paint(styleOf(Number(status)), code)}  `) : line
}

export function stepLine({ number, name, status, errors }: Row, { colour }: Pick<LineOptions, 'colour'>): string {
  const word = toPlain(String(status ?? ''))
  const head = `${padStart(String(number ?? ''), 2)}  ${padEnd(toPlain(String(name ?? '')), 26)}  ${colour ? paintWord(word) : word}`
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
