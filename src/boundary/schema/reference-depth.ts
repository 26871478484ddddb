/**
 * The depth to which compiling the components of a plan recurses.
 *
 * ajv compiles the target of a reference while it compiles the schema that refers to it. A long chain in the wrong order therefore
 * overflows the stack.
 */

import { fieldsOf } from '../../foundation/json/fields.ts'

const COMPONENT = '#/components/schemas/'

/** A reference costs as much of the stack as this many levels of a schema. */
const REFERENCE_LEVELS = 2

export interface ReferenceDepth {
  /** Levels of schemas, with those of the schemas that they refer to. */
  readonly levels: number
  /** The component whose compilation recurses the deepest; empty if there is none. */
  readonly name: string
}

/** `names` are in the order of compilation. */
export function referenceDepth(components: Readonly<Record<string, unknown>>, names: Iterable<string>): ReferenceDepth {
  const compiled = new Set<string>()
  let deepest: ReferenceDepth = { levels: 0, name: '' }
  for (const name of names) {
    const open: { readonly references: Iterator<[string, number]>; readonly depth: number }[] = []
    const enter = (next: string, at: number): void => {
      if (compiled.has(next) || !Object.hasOwn(components, next)) return
      compiled.add(next)
      const { levels, references } = measure(components[next])
      open.push({ references: references.entries(), depth: at })
      if (at + levels > deepest.levels) deepest = { levels: at + levels, name }
    }
    enter(name, 0)
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const next = last.references.next()
      if (next.done === true) open.pop()
      else enter(next.value[0], last.depth + next.value[1] + REFERENCE_LEVELS)
    }
  }
  return deepest
}

interface Measured {
  readonly levels: number
  /** The deepest level at which the schema refers to each component. */
  readonly references: ReadonlyMap<string, number>
}

function measure(schema: unknown): Measured {
  const references = new Map<string, number>()
  let levels = 0
  let level: unknown[] = [schema]
  for (; level.length > 0; levels++) {
    const inner: unknown[] = []
    for (const value of level) {
      const { $ref: reference } = fieldsOf(value)
      if (typeof reference === 'string' && reference.startsWith(COMPONENT))
        references.set(reference.slice(COMPONENT.length), levels)
      for (const each of Object.values(value as object)) if (typeof each === 'object' && each !== null) inner.push(each)
    }
    level = inner
  }
  return { levels, references }
}
