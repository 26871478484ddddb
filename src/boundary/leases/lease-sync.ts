/** Reports to a new generation all that the node may have admitted in open windows, and the slots of its running calls. */

import type { NodeMoment } from './lease-cell.ts'
import type { LeaseCounter } from './lease-counter.ts'
import type { LeaseJournal } from './lease-journal.ts'
import type { LeaseItem } from './lease-messages.ts'

export interface SyncItem {
  readonly item: LeaseItem
  /** Null for a window of a total. */
  readonly counter: LeaseCounter | null
}

export interface KnownTotal {
  /** The declared total: other nodes may follow an older one. */
  readonly limit: { readonly value: number; readonly version: number }
  /** Granted in the window, and not open for calls. */
  readonly held: number
}

export type TotalOf = (key: string, startMs: number) => KnownTotal

export class LeaseSync {
  readonly #journal: LeaseJournal
  readonly #totalOf: TotalOf
  #windows: LeaseItem[] = []
  #slots: LeaseCounter[] = []
  #sent = { windows: 0, slots: 0 }
  #isConfirmed = true

  constructor(journal: LeaseJournal, totalOf: TotalOf) {
    this.#journal = journal
    this.#totalOf = totalOf
  }

  /** Whether everything has been reported, so that a request may say so. */
  get isDone(): boolean {
    return this.#windows.length === 0 && this.#slots.length === 0
  }

  /** Whether no request has said so yet. */
  get isNew(): boolean {
    return !this.#isConfirmed
  }

  begin(slots: readonly LeaseCounter[]): void {
    this.#windows = this.#journal.all().map(({ key, startMs, endMs, claim }) => {
      const { limit, held } = this.#totalOf(key, startMs)
      return { key, budget: { kind: 'total', ...limit, startMs, endMs }, held, used: claim, want: 0 }
    })
    this.#slots = [...slots]
    this.#isConfirmed = false
  }

  /** Returns the next items; the same again until `confirm`. */
  next(itemsMax: number, moment: NodeMoment): readonly SyncItem[] {
    const windows = this.#windows.slice(0, itemsMax)
    const slots = this.#slots.slice(0, itemsMax - windows.length)
    this.#sent = { windows: windows.length, slots: slots.length }
    return [
      ...windows.map((item) => ({ item, counter: null })),
      ...slots.map((counter) => ({ item: { ...counter.item(moment), want: 0 }, counter })),
    ]
  }

  /** Notes that the grantor has executed the latest request. */
  confirm(isSynced: boolean): void {
    if (isSynced) this.#isConfirmed = true
    else {
      this.#windows.splice(0, this.#sent.windows)
      this.#slots.splice(0, this.#sent.slots)
    }
  }
}
