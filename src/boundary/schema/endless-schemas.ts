/**
 * Finds schemas that apply themselves to the same value, through references and alternatives: their validation has no end.
 *
 * A schema may refer to itself from a member or an item, because each step then reaches a smaller value.
 */

import { fieldsOf, listOf } from '../../foundation/json/fields.ts'

const COMPONENT = '#/components/schemas/'
const LISTS = ['allOf', 'anyOf', 'oneOf']
const SINGLE = ['not', 'if', 'then', 'else']

/** Returns the name of one schema of each circle. */
export function findEndlessSchemas(components: Readonly<Record<string, unknown>>): readonly string[] {
  const open = new Set<string>()
  const done = new Set<string>()
  const endless = new Set<string>()
  for (const root of Object.keys(components)) {
    const path: { readonly name: string; readonly applied: string[] }[] = []
    const enter = (name: string): void => {
      if (open.has(name)) endless.add(name)
      else if (!done.has(name) && Object.hasOwn(components, name)) {
        open.add(name)
        path.push({ name, applied: appliedBy(components[name]) })
      }
    }
    enter(root)
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const next = last.applied.pop()
      if (next !== undefined) {
        enter(next)
        continue
      }
      path.pop()
      open.delete(last.name)
      done.add(last.name)
    }
  }
  return [...endless]
}

/** Returns the names of the components that a schema applies to the value itself. */
function appliedBy(schema: unknown): string[] {
  const names = new Set<string>()
  const open: unknown[] = [schema]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const fields = fieldsOf(next)
    const { $ref: reference } = fields
    if (typeof reference === 'string' && reference.startsWith(COMPONENT)) names.add(reference.slice(COMPONENT.length))
    for (const keyword of LISTS) open.push(...listOf(fields[keyword]))
    for (const keyword of SINGLE) if (fields[keyword] !== undefined) open.push(fields[keyword])
    open.push(...Object.values(fieldsOf(fields['dependentSchemas'])))
  }
  return [...names]
}
