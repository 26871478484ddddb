/** The database of slices in virtual time: it restarts with all that it committed, or goes back to an earlier state. */

import type { LeaseMessage, LeaseReply } from '../../src/boundary/leases/lease-messages.ts'
import type { OpenedEpoch } from '../../src/boundary/leases/lease-membership.ts'
import type { LeaseTimings } from '../../src/boundary/leases/lease-timings.ts'
import {
  grantSlices,
  type SliceCounter,
  type SliceGeneration,
  type SliceRequest,
  type SliceSender,
} from '../../src/boundary/leases/slice-grantor.ts'

export type GrantSlices = typeof grantSlices

export interface SentMessage {
  readonly message: LeaseMessage
  readonly sender: SliceSender
}

interface Stored {
  generation: SliceGeneration | null
  readonly last: Map<string, SliceRequest>
  readonly counters: Map<string, SliceCounter>
}

/** Six seconds before a day, a month and, in March, a quarter begin. */
const STARTS_MS = [Date.UTC(2028, 1, 29, 23, 59, 54), Date.UTC(2027, 2, 31, 23, 59, 54)]

export class SliceDatabase {
  isUp = true
  #stored: Stored = { generation: null, last: new Map(), counters: new Map() }
  #saved: Stored = structuredClone(this.#stored)
  #histories = 1
  #clockMs: number
  readonly #listed: readonly string[]
  readonly #timings: LeaseTimings
  readonly #grant: GrantSlices

  constructor(seed: number, listed: readonly string[], timings: LeaseTimings, plantedGrant: GrantSlices = grantSlices) {
    this.#clockMs = STARTS_MS[seed % 2]!
    this.#listed = listed
    this.#timings = timings
    this.#grant = plantedGrant
  }

  execute({ message, sender }: SentMessage, nowMs: number): LeaseReply | null {
    if (!this.isUp) return null
    const { generation, last, counters } = this.#stored
    const identity = message.type === 'request' ? message.node : ''
    const state = { generation, last: last.get(identity) ?? null, counters }
    const moment = { nowMs: nowMs + this.#clockMs, runId: `history-${this.#histories}`, listed: this.#listed }
    const reply = this.#grant(state, message, moment, sender, this.#timings)
    this.#stored.generation = state.generation
    if (state.last !== null) last.set(identity, state.last)
    return structuredClone(reply)
  }

  openEpoch(above: number): OpenedEpoch | null {
    if (!this.isUp) return null
    const epoch = this.#stored.generation?.epoch ?? 0
    return { epoch: Math.max(epoch, above) + 1, isFirst: epoch === 0 && above === 0, members: this.#listed }
  }

  setClock(stepMs: number): void {
    this.#clockMs += stepMs
  }

  save(): void {
    this.#saved = structuredClone(this.#stored)
  }

  /** A standby without the last commits takes over. */
  rewind(): void {
    this.#histories++
    this.#stored = structuredClone(this.#saved)
  }
}
