/** The network between nodes and the grantor: delays, loses, repeats and reorders messages, and cuts nodes off. */

import type { LeaseReply } from '../../src/boundary/leases/lease-messages.ts'
import type { Random } from '../random.ts'
import type { EventQueue } from './event-queue.ts'

export interface Receiver<Message> {
  /** Returns null if the server is down. */
  execute(message: Message, nowMs: number): LeaseReply | null
}

export class LeaseNetwork<Message> {
  readonly cutOff = new Set<number>()
  delayMsMax: number
  lossShare: number
  repeatShare: number
  readonly #queue: EventQueue
  readonly #random: Random
  readonly #server: Receiver<Message>

  constructor(queue: EventQueue, random: Random, server: Receiver<Message>) {
    this.#queue = queue
    this.#random = random
    this.#server = server
    this.delayMsMax = 1 + random.below(8)
    this.lossShare = random.below(3) === 0 ? 0.05 : 0
    this.repeatShare = random.below(2) === 0 ? 0.1 : 0
  }

  /** Sends a message. Its reply may arrive late, several times, or never. */
  send(node: number, message: Message, receive: (reply: LeaseReply) => void): void {
    // A message is data: later changes of the sender's objects must not reach it.
    const sent = structuredClone(message)
    this.#pass(node, () => {
      const reply = this.#server.execute(sent, this.#queue.nowMs)
      if (reply !== null) this.#pass(node, () => receive(reply))
    })
  }

  #pass(node: number, deliver: () => void): void {
    const copies = this.#random.next() < this.repeatShare ? 2 : 1
    for (let copy = 0; copy < copies; copy++) {
      if (this.cutOff.has(node) || this.#random.next() < this.lossShare) continue
      // A copy may arrive after later messages.
      this.#queue.after(this.#delayMs() + (copy === 0 ? 0 : this.#random.below(200)), deliver)
    }
  }

  #delayMs(): number {
    const isSlow = this.#random.below(40) === 0
    return this.#random.below(isSlow ? 600 : this.delayMsMax)
  }
}
