/** Where the schemas of two documents differ, references followed. */

import type { Json, RandomDocument } from './random-schemas.ts'

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g

export class DocumentChange {
  readonly #texts = new WeakMap<object, string>()
  /** Components that differ, or that lead to one. */
  readonly #changed = new Set<string>()
  readonly #known = new Map<string, boolean>()

  constructor(before: RandomDocument, after: RandomDocument) {
    const [one, other] = [before.components.schemas, after.components.schemas]
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
    for (const name of names) if (this.#textOf(one[name]) !== this.#textOf(other[name])) this.#changed.add(name)
    let count = -1
    while (count < this.#changed.size) {
      count = this.#changed.size
      for (const name of names) if (this.#leadsToChange(this.#textOf(other[name]))) this.#changed.add(name)
    }
  }

  differ(one: unknown, other: unknown): boolean {
    const [text, against] = [this.#textOf(one), this.#textOf(other)]
    if (text !== against) return true
    let known = this.#known.get(text)
    if (known === undefined) this.#known.set(text, (known = this.#leadsToChange(text)))
    return known
  }

  #leadsToChange(text: string): boolean {
    for (const [, name = ''] of text.matchAll(REFERENCE)) if (this.#changed.has(name)) return true
    return false
  }

  #textOf(schema: unknown): string {
    if (typeof schema !== 'object' || schema === null) return String(schema)
    let text = this.#texts.get(schema)
    if (text === undefined) this.#texts.set(schema, (text = JSON.stringify(schema as Json)))
    return text
  }
}
