/** The statement of a consumer for a month: its lines, its corrections, its totals, and the same sum from the line items. */

import { useState } from 'preact/hooks'
import { useRead } from '../../api/use-read.ts'
import { ExportButton } from '../../parts/export.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { State, Time, toAmount, toNumber, toShortTime } from '../../parts/values.tsx'
import { query, setQuery } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Reconciled, type Statement } from './reconciled.tsx'

type Line = Statement['lines'][number]

const words = texts.statements
const CONSUMERS_MAX = '50'

export function Statements() {
  const month = query.value.get('month') ?? new Date().toISOString().slice(0, 7)
  const consumer = query.value.get('consumer') ?? ''
  // A person of a consumer needs not name it.
  const isOwn = !scopes.value.has('usage:read')
  const asked = { month, ...(consumer !== '' && { consumer }) }
  const isAsked = isOwn || consumer !== ''
  return (
    <Page
      title={words.title}
      actions={
        isAsked && <ExportButton path="/v1/statements" query={asked} name={`statement ${month} ${consumer}.csv`} />
      }
    >
      <Choice key={`${consumer} ${month}`} consumer={consumer} month={month} isOwn={isOwn} />
      {isAsked ? <Shown asked={asked} /> : <Empty text={words.choose} commands={[commandOf(month)]} />}
    </Page>
  )
}

function commandOf(month: string): string {
  return `tollgate usage statement --consumer CONSUMER --month ${month}`
}

interface ChoiceProps {
  readonly consumer: string
  readonly month: string
  readonly isOwn: boolean
}

function Choice({ consumer, month, isOwn }: ChoiceProps) {
  const [chosen, choose] = useState(consumer)
  const [when, setWhen] = useState(month)
  const mayList = !isOwn && scopes.value.has('consumers:read')
  const { data } = useRead(mayList ? '/v1/consumers' : null, { query: { limit: CONSUMERS_MAX } })
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        setQuery({ consumer: chosen.trim(), month: when })
      }}
    >
      {!isOwn && (
        <label>
          {words.consumer}
          <input
            class="statement-consumer"
            data-search
            list="statement-consumers"
            value={chosen}
            autocomplete="off"
            onInput={({ currentTarget }) => choose(currentTarget.value)}
          />
          <datalist id="statement-consumers">
            {(data?.items ?? []).map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </datalist>
        </label>
      )}
      <TextField type="month" label={words.month} value={when} onChange={setWhen} />
      <button type="submit" class="main">
        {words.show}
      </button>
    </form>
  )
}

function Shown({ asked }: { readonly asked: Readonly<Record<string, string>> }) {
  const reading = useRead('/v1/statements', { query: asked })
  return (
    <Loaded reading={reading}>
      {(statement) => (
        <>
          <Facts statement={statement} />
          {statement.lines.length === 0 ? (
            <Empty text={words.none} commands={[commandOf(statement.month)]} />
          ) : (
            <Lines statement={statement} />
          )}
          <Reconciled statement={statement} again={reading.reload} />
        </>
      )}
    </Loaded>
  )
}

function Facts({ statement }: { readonly statement: Statement }) {
  const { consumer, consumerName, month, from, to, state, closedAt } = statement
  return (
    <dl class="facts">
      <dt>{words.consumer}</dt>
      <dd>
        <bdi>{consumerName || consumer}</bdi>
      </dd>
      <dt>{words.month}</dt>
      <dd>
        {month} <State of={words.states[state]} />
      </dd>
      <dt>{words.covers}</dt>
      <dd>{texts.range.shown(toShortTime(Date.parse(from)), toShortTime(Date.parse(to)), zoneOf())}</dd>
      {closedAt !== null && (
        <>
          <dt>{words.closed}</dt>
          <dd>
            <Time at={closedAt} />
          </dd>
        </>
      )}
    </dl>
  )
}

function zoneOf(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

function Lines({ statement: { lines, totals } }: { readonly statement: Statement }) {
  const { columns } = words
  return (
    <>
      <h2>{words.lines}</h2>
      <Table
        caption={words.lines}
        keyOf={({ kind, api, price, currency }) => [kind, api, price, currency].join('\n')}
        rows={lines}
        columns={[
          { title: columns.api, cell: ({ api }: Line) => <bdi>{api}</bdi> },
          { title: columns.kind, cell: ({ kind }) => words.kinds[kind] },
          { title: columns.price, isNumber: true, cell: ({ price, currency }) => toAmount(price, currency) },
          { title: columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
          { title: columns.units, isNumber: true, cell: ({ units }) => toNumber(units) },
          { title: columns.amount, isNumber: true, cell: ({ amount, currency }) => toAmount(amount, currency) },
        ]}
      />
      <h2>{words.totals}</h2>
      <Table
        caption={words.totals}
        keyOf={({ currency }) => currency}
        rows={totals}
        columns={[
          { title: columns.currency, cell: ({ currency }) => currency || words.free },
          { title: columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
          { title: columns.units, isNumber: true, cell: ({ units }) => toNumber(units) },
          { title: columns.amount, isNumber: true, cell: ({ amount, currency }) => toAmount(amount, currency) },
        ]}
      />
    </>
  )
}
