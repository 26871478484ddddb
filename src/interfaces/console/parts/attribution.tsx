/** Shows the party that a risk is attributed to, and the person that an agent acted for. */

import type { Item } from '../api/operations.ts'
import { texts } from '../texts.ts'

type Attributed = Pick<Item<'/v1/risks'>, 'attributedTo'>

export function toWho({ attributedTo: { kind, name, id, onBehalfOf } }: Attributed) {
  const known = kind === 'provider' ? texts.risks.provider : id
  return (
    <>
      <bdi>{name === '' ? known : name}</bdi>{' '}
      {onBehalfOf !== undefined && <span class="quiet">{texts.risks.onBehalfOf(onBehalfOf)}</span>}
    </>
  )
}
