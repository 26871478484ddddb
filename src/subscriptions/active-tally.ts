/**
 * How many active subscriptions of each variant an API or a product has.
 *
 * Counted when it is first asked for, and kept by the change feed from then on: only of what declares a
 * capacity is it ever asked.
 */

import { isOfKind, type Change, type Registry } from '../store/registry.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'

export interface ActiveTally {
  /** Variant → subscriptions. */
  of(to: Subscribed): Promise<ReadonlyMap<string, number>>
}

/** What is subscribed to. */
export type Subscribed = { readonly api: string } | { readonly product: string }

interface Tally {
  readonly variants: Map<string, string>
  readonly counts: Map<string, number>
}

const PAGE = 500

export function createActiveTally({ registry }: { registry: Pick<Registry, 'list' | 'end' | 'watch'> }): ActiveTally {
  const tallies = new Map<string, Promise<Tally>>()
  /** What the feed says of an id while its tally is counted: later than any page that is being read. */
  const heard = new Map<string, Map<string, string | null>>()
  let watching: Promise<unknown> | null = null

  function hear({ document, removed }: Change): void {
    if (!isOfKind(document, SUBSCRIPTION_KIND)) return
    const { id, body } = document
    const { api, apiProductId, actor, slaVariant } = body
    const key = keyOf(api === '' ? { product: apiProductId } : { api })
    const variant = !removed && actor.value === 'Active' ? slaVariant : null
    const counting = heard.get(key)
    if (counting !== undefined) counting.set(id, variant)
    else void tallies.get(key)?.then((tally) => note(tally, id, variant))
  }

  async function count(key: string, to: Subscribed): Promise<Tally> {
    watching ??= registry.end().then((end) => registry.watch(end, hear))
    await watching
    const meanwhile = new Map<string, string | null>()
    heard.set(key, meanwhile)
    try {
      const tally: Tally = { variants: new Map(), counts: new Map() }
      for (let after = ''; ;) {
        const where = { ...to, state: 'Active' }
        const page = await registry.list(SUBSCRIPTION_KIND, { where, after, limit: PAGE })
        for (const { id, body } of page) note(tally, id, body.slaVariant)
        if (page.length < PAGE) break
        after = page.at(-1)?.id ?? ''
      }
      for (const [id, variant] of meanwhile) note(tally, id, variant)
      return tally
    } finally {
      heard.delete(key)
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

function note({ variants, counts }: Tally, id: string, variant: string | null): void {
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
