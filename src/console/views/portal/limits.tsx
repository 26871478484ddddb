/** The limits and the quota of a subscription, by operation, with what is left of each. */

import type { Item } from '../../api/operations.ts'
import { List } from '../../parts/list.tsx'
import { toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

type Operation = Item<'/v1/subscriptions/:id/operations'>
type Limit = Operation['limits'][number]

const words = texts.portal.keys
const { leftOf, unitsName } = texts.portal.start

export function Limits({ id }: { readonly id: string }) {
  const { limitColumns: columns } = words
  return (
    <section>
      <h2>{words.limits}</h2>
      <List
        path="/v1/subscriptions/:id/operations"
        params={{ id }}
        caption={words.limits}
        keyOf={({ api, operationId }) => `${api} ${operationId}`}
        empty={{ text: words.noLimits, commands: [`tollgate subscriptions operations ${id}`] }}
        columns={[
          {
            title: columns.operation,
            cell: ({ method, path }) => (
              <code>
                <bdi>
                  {method} {path}
                </bdi>
              </code>
            ),
          },
          { title: columns.cost, isNumber: true, cell: ({ resourceUnits }) => toNumber(resourceUnits) },
          { title: columns.limits, cell: ({ limits }) => limits.map(toText).join('; ') },
          { title: columns.quota, cell: ({ quota }) => toQuota(quota) },
        ]}
      />
    </section>
  )
}

function toText({ value, per, remaining }: Limit): string {
  const limit = words.limit(toNumber(value), per ?? '')
  return remaining === null ? limit : `${limit}, ${words.left(toNumber(remaining))}`
}

function toQuota(quota: Operation['quota']): string {
  if (quota === null) return ''
  const { period, resourceUnits, remaining } = quota
  if (resourceUnits === null || remaining === null) return period
  return `${period}: ${leftOf(toNumber(remaining), toNumber(resourceUnits), unitsName)}`
}
