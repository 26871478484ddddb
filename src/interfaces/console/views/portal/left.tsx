/** Shows the rest of a subscription: of the quota, or of the limit on calls that is nearest to its end. */

import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

type Operation = Item<'/v1/subscriptions/:id/operations'>
type Limit = Operation['limits'][number]

const words = texts.portal.start

export function Left({ subscription }: { readonly subscription: string }) {
  const { data } = useRead('/v1/subscriptions/:id/operations', {
    params: { id: subscription },
    query: { limit: '100' },
  })
  if (data === null) return null
  return <>{textOf(data.items)}</>
}

function textOf(operations: readonly Operation[]): string {
  const quota = operations.flatMap((each) => each.quota ?? []).find(({ remaining }) => remaining !== null)
  if (quota != null && quota.remaining !== null && quota.resourceUnits !== null)
    return words.leftOf(toNumber(quota.remaining), toNumber(quota.resourceUnits), words.unitsName)
  const nearest = operations
    .flatMap(({ limits }) => limits)
    .filter(({ appliesNow, value, remaining }) => appliesNow && value > 0 && remaining !== null)
    .toSorted((one, other) => shareOf(one) - shareOf(other))[0]
  if (nearest === undefined) return words.unlimited
  return words.leftOf(toNumber(nearest.remaining ?? 0), toNumber(nearest.value), words.callsName)
}

function shareOf({ remaining, value }: Limit): number {
  return (remaining ?? value) / value
}
