/** The limits and the quota of a subscription, with what is left of each: the live counters of the gateway. */

import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ListOf } from '../../parts/list.tsx'
import { Pages } from '../../parts/pages.tsx'
import { Time, toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

type Path = '/v1/subscriptions/:id/operations'
type Operation = Item<Path>
type Limit = Operation['limits'][number]

const PATH: Path = '/v1/subscriptions/:id/operations'
const words = texts.limits

interface Row {
  readonly key: string
  readonly operation: Operation
  readonly limit: Limit | null
}

interface LimitsProps {
  readonly subscription: string
  /** Whether the address has the page of the list. */
  readonly isPaged?: boolean
}

export function Limits({ subscription: id, isPaged = false }: LimitsProps) {
  const { limit, cursor } = Pages.query()
  const reading = useRead(PATH, { params: { id }, query: { limit, cursor: isPaged ? cursor : '' } })
  const { data } = reading
  const rows = data === null ? null : { items: data.items.flatMap(toRows), next: isPaged ? data.next : null }
  const quota = data?.items.find((each) => each.quota !== null)?.quota ?? null
  return (
    <>
      {quota !== null && <Quota quota={quota} />}
      <ListOf
        reading={{ ...reading, data: rows }}
        caption={words.title}
        keyOf={({ key }: Row) => key}
        empty={{ text: words.none, commands: [`tollgate subscriptions operations ${id} -o json`] }}
        columns={[
          {
            title: words.columns.operation,
            cell: ({ operation: { api, operationId } }) => (
              <bdi>
                {operationId} <span class="quiet">{api}</span>
              </bdi>
            ),
          },
          {
            title: words.columns.limit,
            cell: ({ limit: of }) => (of === null ? words.unlimited : <bdi>{of.name}</bdi>),
          },
          { title: words.columns.allowed, cell: ({ limit: of }) => (of === null ? '' : toAllowed(of)) },
          { title: words.columns.left, isNumber: true, cell: ({ limit: of }) => <Left of={of} /> },
          {
            title: words.columns.resets,
            cell: ({ limit: of }) => (of?.resetsAt == null ? '' : <Time at={of.resetsAt} />),
          },
          {
            title: words.columns.cost,
            isNumber: true,
            cell: ({ operation: { resourceUnits } }) => words.units(toNumber(resourceUnits)),
          },
        ]}
      />
    </>
  )
}

/** An operation without a limit is a row as well. */
function toRows(operation: Operation): readonly Row[] {
  const key = `${operation.api} ${operation.operationId}`
  const limits = operation.limits.filter(({ appliesNow, value }) => appliesNow && value > 0)
  if (limits.length === 0) return [{ key, operation, limit: null }]
  return limits.map((limit) => ({ key: `${key} ${limit.name} ${limit.kind} ${limit.per}`, operation, limit }))
}

function toAllowed({ value, kind, per }: Limit): string {
  return words.allowed(toNumber(value), kind === 'concurrent' ? null : per)
}

/** A number beside the bar: the bar alone says too little. */
function Left({ of }: { readonly of: Limit | null }) {
  if (of === null || of.remaining === null) return null
  return (
    <>
      <meter min={0} max={of.value} low={of.value / 5} value={of.remaining} aria-label={words.leftOf(of.name)} />
      <span class="left">{toNumber(of.remaining)}</span>
    </>
  )
}

function Quota({ quota }: { readonly quota: NonNullable<Operation['quota']> }) {
  const { period, resourceUnits, used, remaining, resetsAt } = quota
  return (
    <dl class="figures">
      <div>
        <dt>{words.quota(words.periods[period])}</dt>
        <dd>{resourceUnits === null ? words.payAsYouGo : words.units(toNumber(resourceUnits))}</dd>
      </div>
      <div>
        <dt>{words.used}</dt>
        <dd>{words.units(toNumber(used))}</dd>
      </div>
      {remaining !== null && (
        <div>
          <dt>{words.left}</dt>
          <dd>{words.units(toNumber(remaining))}</dd>
        </div>
      )}
      <div>
        <dt>{words.columns.resets}</dt>
        <dd>
          <Time at={resetsAt} />
        </dd>
      </div>
    </dl>
  )
}
