/** The declared totals and the quota of a simulation of slices, and which of their values each node follows. */

import { endOf, startOf, type CalendarUnit } from '../../src/foundation/domain/calendar.ts'
import type { TotalDeclaration } from '../../src/boundary/leases/lease-declaration.ts'
import type { Random } from '../random.ts'

export type SliceName = 'day' | 'month' | 'quota'

export const SLICE_NAMES: readonly SliceName[] = ['day', 'month', 'quota']
const UNITS: Readonly<Record<SliceName, CalendarUnit>> = { day: 'day', month: 'month', quota: 'quarter' }
/** Costs of operations in a quota. */
const COSTS = [1_000_000, 250_000, 1_500_001, 7]

interface Followed {
  readonly value: number
  readonly version: number
}

export class SliceLimits {
  readonly #random: Random
  /** All values of each limit, the newest last. */
  readonly #values: Record<SliceName, Followed[]>
  readonly #followed: Record<SliceName, Followed>[]
  #version = 1

  constructor(random: Random, nodes: number) {
    this.#random = random
    const first = (name: SliceName): Followed[] => [{ value: this.#pick(name), version: 1 }]
    this.#values = { day: first('day'), month: first('month'), quota: first('quota') }
    this.#followed = Array.from({ length: nodes }, () => this.#newest())
  }

  change(): SliceName {
    const name = SLICE_NAMES[this.#random.below(3)]!
    this.#values[name].push({ value: this.#pick(name), version: ++this.#version })
    return name
  }

  follow(node: number, name: SliceName): void {
    this.#followed[node]![name] = this.#values[name].at(-1)!
  }

  followAll(node: number): void {
    this.#followed[node] = this.#newest()
  }

  /** The highest value since the oldest one that a node still follows. */
  limit(name: SliceName): { readonly value: number } {
    const oldest = Math.min(...this.#followed.map((each) => each[name].version))
    return {
      value: Math.max(...this.#values[name].filter(({ version }) => version >= oldest).map((each) => each.value)),
    }
  }

  costOf(name: SliceName): number {
    return name === 'quota' ? COSTS[this.#random.below(COSTS.length)]! : 1
  }

  declaration(node: number, name: SliceName): TotalDeclaration {
    const windowAt = (serverMs: number) => ({
      startMs: startOf(UNITS[name], serverMs),
      endMs: endOf(UNITS[name], serverMs),
    })
    return { kind: 'total', ...this.#followed[node]![name], windowAt }
  }

  #newest(): Record<SliceName, Followed> {
    const { day, month, quota } = this.#values
    return { day: day.at(-1)!, month: month.at(-1)!, quota: quota.at(-1)! }
  }

  #pick(name: SliceName): number {
    const calls = 1 + this.#random.below(this.#random.below(3) === 0 ? 400 : 40)
    return name === 'quota' ? calls * 1_000_000 + this.#random.below(500_000) : calls
  }
}
