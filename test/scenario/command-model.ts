/** A model of the catalogue, which is simple enough to be correct by inspection. */

import { Problem } from '../../src/foundation/domain/problem.ts'
import type { Random } from '../random.ts'

export interface ModelApi {
  readonly name: string
  readonly proxy: string
  state: 'Prospect' | 'Active' | 'Deprecated' | 'Retired'
  next: number
  staging: number | null
  active: number | null
}

export interface ModelSubscription {
  readonly id: string
  readonly api: string
  readonly product: string
  readonly credentials: Map<string, boolean>
  state: 'Active' | 'Suspended' | 'Cancelled'
  scopes: readonly string[]
}

/** The expected state, in plain maps. */
export class Model {
  readonly apis = new Map<string, ModelApi>()
  readonly products = new Map<string, readonly string[]>()
  readonly subscriptions = new Map<string, ModelSubscription>()
  isConsumerDisabled = false

  membersOf(product: string): readonly string[] {
    return this.products.get(product) ?? []
  }

  isSubscribed(product: string): boolean {
    return [...this.subscriptions.values()].some((each) => each.product === product && each.state !== 'Cancelled')
  }

  activeAt(api: string): string[] {
    const all = [...this.subscriptions.values()].filter(({ state }) => state === 'Active')
    return all.filter((each) => each.api === api || this.membersOf(each.product).includes(api)).map(({ id }) => id)
  }
}

/** Returns `done`, or the code of the problem. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (cause) {
    if (cause instanceof Problem) return cause.code
    throw cause
  }
}

export function pick<T>(random: Random, from: readonly T[]): T | undefined {
  return from[random.below(from.length)]
}
