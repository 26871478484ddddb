/**
 * The attributions of one segment by number, built from its batches in order.
 *
 * A batch carries the number of its first definition. If a damaged batch hides definitions, their numbers stay unknown, and a
 * later batch is read only if none of its records uses an unknown number. Damage therefore never assigns a number to another
 * attribution.
 */

import { ANONYMOUS, type Attribution } from '../../foundation/domain/attribution.ts'

/** Above the number of definitions that fit into a segment: a higher number is damaged. */
const NUMBERS_MAX = 1 << 20
/** Placeholder for a number whose definition is missing. No record that is read refers to it. */
const UNKNOWN: Attribution = Object.freeze({ ...ANONYMOUS, tenant: '', api: '', operation: '' })

export class AttributionTable {
  /** The same array for the lifetime of the table. */
  readonly attributions: Attribution[] = []
  #unknown: Set<number> | null = null

  /** Adds the definitions of a batch. Returns false, and adds nothing, if they contradict earlier definitions. */
  define(first: number, definitions: readonly Attribution[]): boolean {
    const { attributions } = this
    if (first < attributions.length || first > NUMBERS_MAX) return false
    while (attributions.length < first) {
      this.#unknown ??= new Set()
      this.#unknown.add(attributions.length)
      attributions.push(UNKNOWN)
    }
    for (const attribution of definitions) attributions.push(attribution)
    return true
  }

  get hasUnknown(): boolean {
    return this.#unknown !== null
  }

  /** Whether every number that `idAt` returns for indexes below `count` is certainly known. */
  knows(count: number, idAt: (index: number) => number): boolean {
    // Without a gap, a batch that verifies uses only numbers that its writer has defined.
    const unknown = this.#unknown
    if (unknown === null) return true
    for (let index = 0; index < count; index++) {
      const id = idAt(index)
      if (id >= this.attributions.length || unknown.has(id)) return false
    }
    return true
  }
}
