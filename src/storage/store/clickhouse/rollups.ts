/**
 * Rolls up the hourly totals of closed days, in the background.
 *
 * The rollups hold nothing that the hourly totals lack, and no record of their state is kept: after a start, a day counts as rolled up
 * only when its sums equal those of the hourly totals. So a copy of a running folder, a lost file or a kill in the middle of a rollup
 * costs time, never a wrong sum. The rollups of a month are replaced as a whole, and the days that were complete before stay the same,
 * so that a read meanwhile is correct with either.
 *
 * Totals may arrive late. Their day is read from the hourly totals from before the insert until it is rolled up again.
 */

import { DAY_S } from '../../../foundation/domain/calendar.ts'
import type { ClickHouse } from './client.ts'
import { closedUpTo, compareMonth, listMonths, type ComparedMonth } from './rollup-state.ts'
import { makeRollups } from './rollup-tables.ts'
import type { PricedUsage, RolledUsage } from './summary-plan.ts'

export interface Rollups extends RolledUsage, PricedUsage {
  /** Runs an insert of totals of these times. */
  inserting<T>(timesMs: Iterable<number>, insert: () => Promise<T>): Promise<T>
  /** Rolls up what is due, the newest month first. */
  roll(nowMs: number, options?: RollOptions): Promise<void>
}

export interface RollOptions {
  readonly signal?: AbortSignal
  /** Called for each month whose rollups were made, with its first day and the days that it took. */
  readonly onMonth?: (month: string, days: number) => void
}

/** For a store that keeps no rollups up to date. */
export const NOTHING_ROLLED: Rollups = {
  isDayRolled: () => false,
  isMonthRolled: () => false,
  isDayPriced: () => false,
  inserting: (_, insert) => insert(),
  roll: () => Promise.resolve(),
}

/** Inserts of the totals of one day. */
interface Inserts {
  running: number
  /** Counts their beginnings and ends. */
  changes: number
}

export function createRollups(client: ClickHouse): Rollups {
  return new StoredRollups(client)
}

class StoredRollups implements Rollups {
  readonly #client: ClickHouse
  readonly #days = new Set<number>()
  readonly #months = new Set<number>()
  readonly #priced = new Set<number>()
  /** Up to which second the days of a month are rolled up, and whether by price, by its first second. */
  readonly #complete = new Map<number, string>()
  readonly #inserts = new Map<number, Inserts>()

  constructor(client: ClickHouse) {
    this.#client = client
  }

  isDayRolled(dayS: number): boolean {
    return this.#days.has(dayS)
  }

  isMonthRolled(monthS: number): boolean {
    return this.#months.has(monthS)
  }

  isDayPriced(dayS: number): boolean {
    return this.#priced.has(dayS)
  }

  async inserting<T>(timesMs: Iterable<number>, insert: () => Promise<T>): Promise<T> {
    const touched = new Set([...timesMs].map((timeMs) => Math.floor(timeMs / 1_000 / DAY_S) * DAY_S))
    const begun = [...touched].map((dayS) => this.#begin(dayS))
    try {
      return await insert()
    } finally {
      for (const each of begun) {
        each.running--
        each.changes++
      }
    }
  }

  async roll(nowMs: number, options: RollOptions = {}): Promise<void> {
    for (const monthS of await listMonths(this.#client, options.signal)) {
      options.signal?.throwIfAborted()
      const toS = closedUpTo(monthS, nowMs)
      const isPriced = monthS >= startOfMonth(startOfMonth(nowMs / 1_000) - 1)
      if (!isPriced && this.#unprice(monthS)) continue
      if (this.#complete.get(monthS) !== `${toS} ${isPriced}`) await this.#rollMonth({ monthS, toS, isPriced }, options)
    }
  }

  /** A read that began before may still need the rows, which the next round removes. */
  #unprice(monthS: number): boolean {
    const priced = [...this.#priced].filter((dayS) => startOfMonth(dayS) === monthS)
    for (const dayS of priced) this.#priced.delete(dayS)
    return priced.length > 0
  }

  #begin(dayS: number): Inserts {
    const monthS = startOfMonth(dayS)
    this.#months.delete(monthS)
    const wasRolled = this.#days.delete(dayS)
    if (this.#priced.delete(dayS) || wasRolled) this.#complete.delete(monthS)
    const found = this.#inserts.get(dayS) ?? { running: 0, changes: 0 }
    found.running++
    found.changes++
    this.#inserts.set(dayS, found)
    return found
  }

  async #rollMonth(compared: ComparedMonth, { signal, onMonth }: RollOptions): Promise<void> {
    const client = this.#client
    const { monthS, toS, isPriced } = compared
    const before = new Map([...this.#inserts].map(([dayS, { running, changes }]) => [dayS, running > 0 ? -1 : changes]))
    let state = await compareMonth(client, compared, signal)
    if (!state.isComplete) {
      const found = state
      await client.newParts.verified(() => makeRollups(client, found, signal))
      state = await compareMonth(client, compared, signal)
      onMonth?.(state.month, state.same.length - found.same.length)
    }
    // Totals that were inserted meanwhile may be missing in one of the two sums: the next round compares them again.
    const isUnchanged = (dayS: number): boolean => this.#inserts.get(dayS)?.changes === before.get(dayS)
    for (const dayS of state.same.filter(isUnchanged)) this.#days.add(dayS)
    for (const dayS of state.priced.filter(isUnchanged)) this.#priced.add(dayS)
    const closed = [...this.#inserts.keys()].filter((dayS) => dayS >= monthS && dayS < toS)
    // By price, a day whose line items lack what its hourly totals have is not complete even now.
    if (!state.isRolled || !closed.every(isUnchanged)) return
    this.#complete.set(monthS, `${toS} ${isPriced}`)
    if (state.isOver) this.#months.add(monthS)
  }
}

function startOfMonth(dayS: number): number {
  const time = new Date(dayS * 1_000)
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1) / 1_000
}
