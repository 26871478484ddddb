/** The total of a statement beside the sum of its line items, which the API adds up from other tables. Exact, without floats. */

import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import { differenceOf } from './exact.ts'
import { TOTAL } from './links.ts'

export type Statement = Answer<'/v1/statements'>

const words = texts.statements

interface Compared {
  readonly currency: string
  readonly statement: Sum
  readonly items: Sum
}

interface Sum {
  readonly calls: number
  readonly units: number
  readonly amount: string
}

const NOTHING: Sum = { calls: 0, units: 0, amount: '0' }

interface ReconciledProps {
  readonly statement: Statement
  /** Reads the statement again. */
  readonly again: () => void
}

export function Reconciled({ statement, again }: ReconciledProps) {
  const { consumer, from, to, totals, state } = statement
  const filter = { customer: consumer, from, to }
  const reading = useRead('/v1/summaries', { query: { ...filter, groupBy: TOTAL } })
  const compare = (): void => {
    again()
    reading.reload()
  }
  return (
    <>
      <h2>{words.reconciled}</h2>
      <p class="quiet">{state === 'Open' ? `${words.lead} ${words.open}` : words.lead}</p>
      <Loaded reading={reading}>
        {({ items }) => (
          <Comparison
            rows={pair(
              totals,
              items.map(({ currency, calls, value: units, amount }) => ({ currency, calls, units, amount })),
            )}
          />
        )}
      </Loaded>
      <p class="toolbar">
        <button type="button" onClick={compare}>
          {words.again}
        </button>
        <a href={`${BASE}usage/items?${new URLSearchParams(filter).toString()}`}>{words.seeItems}</a>
      </p>
    </>
  )
}

function pair(
  totals: readonly (Sum & { readonly currency: string })[],
  sums: readonly (Sum & { readonly currency: string })[],
): readonly Compared[] {
  const currencies = [...new Set([...totals, ...sums].map(({ currency }) => currency))].sort()
  return currencies.map((currency) => ({
    currency,
    statement: totals.find((each) => each.currency === currency) ?? NOTHING,
    items: sums.find((each) => each.currency === currency) ?? NOTHING,
  }))
}

function Comparison({ rows }: { readonly rows: readonly Compared[] }) {
  const { columns } = words
  return (
    <Table
      caption={words.reconciled}
      keyOf={({ currency }) => currency}
      rows={rows}
      columns={[
        { title: columns.currency, cell: ({ currency }) => currency || words.free },
        {
          title: `${words.statement}: ${columns.calls}`,
          isNumber: true,
          cell: ({ statement }) => toNumber(statement.calls),
        },
        { title: `${words.items}: ${columns.calls}`, isNumber: true, cell: ({ items }) => toNumber(items.calls) },
        {
          title: `${words.statement}: ${columns.amount}`,
          isNumber: true,
          cell: ({ statement, currency }) => toAmount(statement.amount, currency),
        },
        {
          title: `${words.items}: ${columns.amount}`,
          isNumber: true,
          cell: ({ items, currency }) => toAmount(items.amount, currency),
        },
        { title: words.difference, isNumber: true, cell: (row) => <Difference row={row} /> },
      ]}
    />
  )
}

function Difference({ row: { statement, items, currency } }: { readonly row: Compared }) {
  const amount = differenceOf(statement.amount, items.amount)
  const calls = statement.calls - items.calls
  const units = Number((statement.units - items.units).toFixed(6))
  if (amount === '0' && calls === 0 && units === 0) return <strong class="equal">{words.equal}</strong>
  const parts = [toAmount(amount, currency), `${toNumber(calls)} ${texts.usage.units.calls}`]
  return <strong class="different">{[...parts, `${toNumber(units)} ${texts.usage.units.value}`].join(', ')}</strong>
}
