/** A link to the access of a consumer, by the API or the product. */

import { BASE } from '../../router.ts'

interface SubscriptionLinkProps {
  readonly id: string
  readonly name: string
}

export function SubscriptionLink({ id, name }: SubscriptionLinkProps) {
  return (
    <a href={`${BASE}keys/${encodeURIComponent(id)}`}>
      <bdi>{name}</bdi>
    </a>
  )
}
