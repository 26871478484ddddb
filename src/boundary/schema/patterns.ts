/**
 * The patterns of the schemas of one revision.
 *
 * A pattern takes up to tens of milliseconds to compile, and a small document can have hundreds. A serving thread therefore compiles
 * them one by one before the schemas that have them, which find them here.
 */

import { compileLinear, type LinearPattern } from '../../foundation/json/linear-pattern.ts'
import type { Pace } from '../../foundation/runtime/pace.ts'

export class Patterns {
  readonly #compiled = new Map<string, LinearPattern | null>()

  /** Throws if the pattern cannot be matched in linear time. */
  compile(text: string): LinearPattern {
    const pattern = this.prepare(text)
    if (pattern === null) throw new Error(`the pattern cannot be matched in linear time: ${text.slice(0, 80)}`)
    return pattern
  }

  /** Compiles a pattern unless it is compiled; null if it cannot be matched in linear time. */
  prepare(text: string): LinearPattern | null {
    const known = this.#compiled.get(text)
    if (known !== undefined) return known
    const pattern = compileLinear(text)
    this.#compiled.set(text, pattern)
    return pattern
  }
}

/** Compiles patterns in slices. */
export async function preparePatterns(
  patterns: Iterable<string>,
  compiler: { preparePattern(pattern: string): void },
  pace: Pace,
): Promise<void> {
  for (const pattern of patterns) {
    compiler.preparePattern(pattern)
    await pace()
  }
}

/** Yields the patterns of all schemas in a value, and possibly texts that merely stand in their place, such as in an example. */
export function* patternsIn(value: unknown): Iterable<string> {
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    const { pattern, patternProperties } = next as Readonly<Record<string, unknown>>
    if (typeof pattern === 'string') yield pattern
    if (typeof patternProperties === 'object' && patternProperties !== null) yield* Object.keys(patternProperties)
    for (const member of Object.values(next)) open.push(member)
  }
}
