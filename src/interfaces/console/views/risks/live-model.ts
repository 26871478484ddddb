/**
 * The open episodes of the live list: which are known, and which of them are shown.
 *
 * Bounded to the newest episodes. While the list is held, its rows stay where they are.
 */

import type { Item } from '../../api/operations.ts'

/** The latest event of an episode; the stream does not know mutes. */
export type LiveRisk = Omit<Item<'/v1/risks'>, 'state' | 'muted' | 'mute'>

export interface Shown {
  /** Newest first; null until they are known. */
  readonly rows: readonly LiveRisk[] | null
  /** Episodes that wait until they are shown. */
  readonly waiting: readonly LiveRisk[]
}

export interface Found {
  readonly items: readonly LiveRisk[]
  /** Whether these are all open episodes. */
  readonly isComplete: boolean
}

export const KNOWN_MAX = 1_000
/** The newest ones, which stay when more than `KNOWN_MAX` are known. */
export const KEPT = 900

export class LiveModel {
  readonly #known = new Map<string, LiveRisk>()
  /** Shown episodes that were cleared while the list was held. */
  readonly #cleared = new Map<string, LiveRisk>()
  /** Changed by the stream since the list was asked for, so that the answer is older. */
  #changed: Set<string> | null = null
  /** Newest first; null after an episode has come or gone. */
  #order: readonly string[] | null = null
  #shown: readonly string[] | null = null
  #seen: ReadonlySet<string> = new Set()
  /** This episode and older ones were let go. */
  #oldest = ''

  apply(events: readonly LiveRisk[]): void {
    for (const event of events) {
      const { riskId } = event
      this.#changed?.add(riskId)
      if (event.phase === 'cleared') {
        if (this.#seen.has(riskId)) this.#cleared.set(riskId, event)
        this.#remove(riskId)
      } else this.#set(event)
    }
    this.#evict()
  }

  beginLoad(): void {
    this.#changed = new Set()
  }

  endLoad({ items, isComplete }: Found): void {
    const later = this.#changed ?? new Set()
    this.#changed = null
    const open = new Set(items.map(({ riskId }) => riskId))
    const gone = isComplete ? this.#ids().filter((id) => !open.has(id) && !later.has(id)) : []
    for (const id of gone) this.#remove(id)
    for (const risk of items) if (!later.has(risk.riskId)) this.#set(risk)
    this.#evict()
  }

  /** Shows what is known, and nothing waits. */
  all(): Shown {
    this.#cleared.clear()
    this.#shown = this.#ids()
    this.#seen = new Set(this.#shown)
    return { rows: this.#shown.flatMap((id) => this.#known.get(id) ?? []), waiting: [] }
  }

  /** Shows the same rows as before. */
  held(): Shown {
    if (this.#shown === null) return this.all()
    const rows = this.#shown.flatMap((id) => this.#known.get(id) ?? this.#cleared.get(id) ?? [])
    const waiting = this.#ids().flatMap((id) => (this.#seen.has(id) ? [] : (this.#known.get(id) ?? [])))
    return { rows, waiting }
  }

  #set(risk: LiveRisk): void {
    const { riskId } = risk
    if (!this.#known.has(riskId)) {
      if (riskId <= this.#oldest && this.#known.size >= KEPT) return
      this.#order = null
    }
    this.#known.set(riskId, risk)
  }

  #remove(riskId: string): void {
    if (this.#known.delete(riskId)) this.#order = null
  }

  #ids(): readonly string[] {
    return (this.#order ??= [...this.#known.keys()].sort((one, other) => (one < other ? 1 : -1)))
  }

  #evict(): void {
    if (this.#known.size <= KNOWN_MAX) return
    const all = this.#ids()
    this.#oldest = all[KEPT] ?? this.#oldest
    for (const riskId of all.slice(KEPT)) this.#remove(riskId)
  }
}
