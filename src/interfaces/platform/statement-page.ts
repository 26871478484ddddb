/** A statement as a page to print: plain HTML without scripts. Names come from tenants and callers, so all text is escaped. */

import { createHash } from 'node:crypto'
import { escapeHtml } from '../../foundation/domain/html.ts'
import type { StatementLine } from '../../storage/store/statement-store.ts'

const STYLE = `
body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;color:#1c2024;background:#fff}
h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}
p{color:#5b6470;margin:.25rem 0 1.5rem;overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.4rem .5rem;border-bottom:1px solid #d5d9e0;text-align:left;overflow-wrap:anywhere}
th.number,td.number{text-align:right;white-space:nowrap}
tfoot td{font-weight:600;border-bottom:0}
tr{break-inside:avoid}
thead{display:table-header-group}
@media print{body{margin:0;max-width:none}}
`
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
}

export interface Statement {
  readonly consumer: string
  readonly consumerName: string
  readonly month: string
  readonly from: string
  readonly to: string
  readonly state: 'Open' | 'Closed'
  readonly closedAt: string | null
  readonly lines: readonly ({ readonly kind: 'usage' | 'correction' } & StatementLine)[]
  readonly totals: readonly Pick<StatementLine, 'currency' | 'calls' | 'units' | 'amount'>[]
}

export interface StatementPage {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

export function statementPage(statement: Statement): StatementPage {
  const { consumer, consumerName, month, state, closedAt, lines, totals } = statement
  const title = escapeHtml(`Statement of ${consumerName === '' ? consumer : consumerName}, ${month}`)
  const period =
    state === 'Closed'
      ? `Closed on ${closedAt?.slice(0, 10)}. Usage that arrived later is listed as corrections.`
      : 'This month is open: its usage may still change.'
  const rows = lines.map(({ kind, api, price, currency, calls, units, amount }) =>
    row([kind === 'usage' ? api : `${api} (correction)`, price, String(calls), units, amount, currency]),
  )
  const sums = totals.map(({ currency, calls, units, amount }) =>
    row(['Total', '', String(calls), units, amount, currency]),
  )
  const text = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
<p>Consumer ${escapeHtml(consumer)}. Times are in UTC. ${period}</p>
<table>
<thead>
<tr><th>API</th><th class="number">Price</th><th class="number">Calls</th><th class="number">Units</th><th class="number">Amount</th><th>Currency</th></tr>
</thead>
<tbody>
${rows.join('\n')}
</tbody>
<tfoot>
${sums.join('\n')}
</tfoot>
</table>
</body>
</html>
`
  return { text, headers: HEADERS }
}

function row([api = '', ...cells]: readonly string[]): string {
  const currency = cells.at(-1) ?? ''
  const numbers = cells.slice(0, -1).map((cell) => `<td class="number">${escapeHtml(cell)}</td>`)
  return `<tr><td>${escapeHtml(api)}</td>${numbers.join('')}<td>${escapeHtml(currency)}</td></tr>`
}
