/** The order in which to compile the schemas of a document. */

const SCHEMAS = '#/components/schemas/'

/**
 * Yields the names of schemas, each after those that it refers to, so that none of them is compiled together with many others.
 * Circles are cut where they are entered.
 */
export function* referencedFirst(schemas: object): Iterable<string> {
  const seen = new Set<string>()
  const open: { readonly name: string; readonly references: string[] }[] = []
  const enter = (name: string): void => {
    if (seen.has(name) || !Object.hasOwn(schemas, name)) return
    seen.add(name)
    open.push({ name, references: referencesIn(schemas[name as keyof typeof schemas]) })
  }
  for (const root of Object.keys(schemas)) {
    enter(root)
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const next = last.references.pop()
      if (next !== undefined) enter(next)
      else {
        open.pop()
        yield last.name
      }
    }
  }
}

/** Returns the names of the schemas that a schema refers to; a member that only looks like a reference does no harm. */
function referencesIn(schema: unknown): string[] {
  const names = new Set<string>()
  const open: unknown[] = [schema]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    for (const [key, value] of Object.entries(next)) {
      if (key !== '$ref') open.push(value)
      else if (typeof value === 'string' && value.startsWith(SCHEMAS)) names.add(value.slice(SCHEMAS.length))
    }
  }
  return [...names]
}
