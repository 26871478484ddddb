/**
 * The attributions of one segment by their number, built from its batches in order.
 *
 * A batch names the number of its first definition. If definitions before it are missing (their batch is damaged), their
 * numbers stay unknown: a later batch is read only if none of its records uses one of them. So damage never moves a number
 * to another attribution.
 */

import { ANONYMOUS, type Attribution } from '../domain/attribution.ts'

/** More than a segment can define: a number beyond it is damaged. */
const NUMBERS_MAX = 1 << 20
/** Stands for a number whose definition is missing. No record that is read has it. */
const UNKNOWN: Attribution = Object.freeze({ ...ANONYMOUS, tenant: '', api: '', operation: '' })

export class AttributionTable {
  /** Always the same array. */
  readonly attributions: Attribution[] = []
  #unknown: Set<number> | null = null

  /** Adds the definitions of a batch. Returns false if they contradict those before them: then nothing is added. */
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

  /** Whether every number that `idAt` gives for 0 to `count` is known for certain. */
  knows(count: number, idAt: (index: number) => number): boolean {
    // Without a gap, a batch that verifies uses only what its writer has defined.
    const unknown = this.#unknown
    if (unknown === null) return true
    for (let index = 0; index < count; index++) {
      const id = idAt(index)
      if (id >= this.attributions.length || unknown.has(id)) return false
    }
    return true
  }
}
