/**
 * The depth to which compiling the components of a plan recurses.
 *
 * ajv compiles the target of a reference while it compiles the schema that refers to it. A long chain in the wrong order therefore
 * overflows the stack.
 */

const COMPONENT = '#/components/schemas/'

/** `names` are in the order of compilation. */
export function referenceDepth(components: Readonly<Record<string, unknown>>, names: readonly string[]): number {
  const compiled = new Set<string>()
  let depth = 0
  for (const name of names) {
    const open: Iterator<string>[] = []
    const enter = (next: string): void => {
      if (compiled.has(next) || !Object.hasOwn(components, next)) return
      compiled.add(next)
      open.push(referencesIn(components[next]).values())
      depth = Math.max(depth, open.length)
    }
    enter(name)
    while (open.length > 0) {
      const next = open.at(-1)!.next()
      if (next.done === true) open.pop()
      else enter(next.value)
    }
  }
  return depth
}

/** Returns the names of the components that a schema refers to. */
function referencesIn(schema: unknown): ReadonlySet<string> {
  const names = new Set<string>()
  const open: unknown[] = [schema]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const reference = (next as Record<string, unknown>)['$ref']
    if (typeof reference === 'string' && reference.startsWith(COMPONENT)) names.add(reference.slice(COMPONENT.length))
    for (const inner of Object.values(next)) if (typeof inner === 'object' && inner !== null) open.push(inner)
  }
  return names
}
