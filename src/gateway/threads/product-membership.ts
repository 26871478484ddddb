/**
 * Of two words on the products of an API the later one holds: a plan says them when it is made, a
 * command may change them while the plan is still being compiled.
 *
 * One entry for each API that was ever spoken of.
 */

import type { RoutePlan } from '../../plan/route-plan.ts'

export interface Memberships {
  /** A moment, to be given to `correct`. */
  now(): number
  say(api: string, productIds: readonly string[]): void
  /** The plan as it was made at the moment `since`, with what was said after it. */
  correct(plan: RoutePlan, since: number): RoutePlan
}

export function createMemberships(): Memberships {
  const words = new Map<string, { readonly productIds: readonly string[]; readonly at: number }>()
  let last = 0

  return {
    now: () => last,
    say(api, productIds) {
      words.set(api, { productIds, at: ++last })
    },
    correct(plan, since) {
      const word = words.get(plan.api)
      return word === undefined || word.at <= since ? plan : { ...plan, memberOfProductIds: word.productIds }
    },
  }
}
