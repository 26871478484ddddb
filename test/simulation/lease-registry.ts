/** The registry in virtual time: numbers the generations, and lists all nodes that may hold leases. */

import type { OpenedEpoch } from '../../src/boundary/leases/lease-membership.ts'
import type { EventQueue } from './event-queue.ts'

/** An identity stays a member for as long after its end: longer than the longest window, with a clock that is set back. */
export const MEMBER_MS = 40_000

interface Member {
  readonly node: number
  /** Null: it is in the list. */
  endedMs: number | null
}

export class LeaseRegistry {
  isUp = true
  #epoch = 0
  readonly #queue: EventQueue
  readonly #members = new Map<string, Member>()

  constructor(queue: EventQueue) {
    this.#queue = queue
  }

  /** Makes `identity` the only one of the node. */
  register(identity: string, node: number): void {
    this.remove(node)
    this.#members.set(identity, { node, endedMs: null })
  }

  /** Removes a node from the list. */
  remove(node: number): void {
    for (const member of this.#members.values()) {
      if (member.node === node) member.endedMs ??= this.#queue.nowMs
    }
  }

  openEpoch(above: number): OpenedEpoch | null {
    if (!this.isUp) return null
    const isFirst = this.#epoch === 0 && above === 0
    this.#epoch = Math.max(this.#epoch, above) + 1
    const members = [...this.#members].filter(
      ([, { endedMs }]) => endedMs === null || this.#queue.nowMs - endedMs < MEMBER_MS,
    )
    const ended = members.flatMap(([identity, { endedMs }]) =>
      endedMs === null ? [] : [[identity, Math.floor(this.#queue.nowMs - endedMs)] as const],
    )
    return {
      epoch: this.#epoch,
      isFirst,
      members: members.map(([identity]) => identity),
      ended: Object.fromEntries(ended),
    }
  }
}
