/** The registry in virtual time: numbers the generations, and lists all nodes that may hold leases. */

import type { OpenedEpoch } from '../../src/leases/lease-membership.ts'

export class LeaseRegistry {
  isUp = true
  #epoch = 0
  readonly #members: string[] = []

  register(identity: string): void {
    this.#members.push(identity)
  }

  openEpoch(above: number): OpenedEpoch | null {
    if (!this.isUp) return null
    const isFirst = this.#epoch === 0 && above === 0
    this.#epoch = Math.max(this.#epoch, above) + 1
    return { epoch: this.#epoch, isFirst, members: [...this.#members] }
  }
}
