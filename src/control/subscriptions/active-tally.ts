/**
 * Counts the active subscriptions of an API or a product, by variant.
 *
 * A count is read from the registry on first use and updated from the change feed afterwards. Only APIs that declare a
 * capacity are counted.
 */

import { createLazyWatch } from '../command/lazy-watch.ts'
import { listAll } from '../command/page.ts'
import { isOfKind, type Change, type Registry } from '../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'

export interface ActiveTally {
  /** Returns the number of active subscriptions per variant. */
  of(to: Subscribed): Promise<ReadonlyMap<string, number>>
}

/** The API or the product of a subscription. */
export type Subscribed = { readonly api: string } | { readonly product: string }

interface Tally {
  readonly variants: Map<string, string>
  readonly counts: Map<string, number>
}

export function createActiveTally({ registry }: { registry: Pick<Registry, 'list' | 'end' | 'watch'> }): ActiveTally {
  const tallies = new Map<string, Promise<Tally>>()
  /** Changes that arrive while a tally is read. They are newer than the list, so they are applied last. */
  const pendingChanges = new Map<string, Map<string, string | null>>()
  const watch = createLazyWatch(registry, onChange)

  function onChange({ document, removed }: Change): void {
    if (!isOfKind(document, SUBSCRIPTION_KIND)) return
    const { id, body } = document
    const { api, apiProductId, actor, slaVariant } = body
    const key = keyOf(api === '' ? { product: apiProductId } : { api })
    const variant = !removed && actor.value === 'Active' ? slaVariant : null
    const counting = pendingChanges.get(key)
    if (counting !== undefined) counting.set(id, variant)
    else {
      void tallies.get(key)?.then(
        (tally) => update(tally, id, variant),
        // `of` evicts a tally that could not be read.
        () => {},
      )
    }
  }

  async function count(key: string, to: Subscribed): Promise<Tally> {
    await watch()
    const meanwhile = new Map<string, string | null>()
    pendingChanges.set(key, meanwhile)
    try {
      const tally: Tally = { variants: new Map(), counts: new Map() }
      const where = { ...to, state: 'Active' }
      for await (const { id, body } of listAll(registry, SUBSCRIPTION_KIND, { where }))
        update(tally, id, body.slaVariant)
      for (const [id, variant] of meanwhile) update(tally, id, variant)
      return tally
    } finally {
      pendingChanges.delete(key)
    }
  }

  return {
    async of(to) {
      const key = keyOf(to)
      const known = tallies.get(key) ?? count(key, to)
      tallies.set(key, known)
      try {
        return (await known).counts
      } catch (cause) {
        tallies.delete(key)
        throw cause
      }
    },
  }
}

function update({ variants, counts }: Tally, id: string, variant: string | null): void {
  const before = variants.get(id)
  if (before === variant) return
  if (before !== undefined) counts.set(before, (counts.get(before) ?? 0) - 1)
  if (variant === null) variants.delete(id)
  else {
    variants.set(id, variant)
    counts.set(variant, (counts.get(variant) ?? 0) + 1)
  }
}

function keyOf(to: Subscribed): string {
  return 'api' in to ? `api ${to.api}` : `product ${to.product}`
}
