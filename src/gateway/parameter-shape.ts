/**
 * What must be known of a parameter's schema to read its text: types of the value, of its items and of
 * its properties, with references followed.
 *
 * Texts carry no types, so they are read as their schema says and judged afterwards. Nested deeper than
 * a parameter can be written, nothing is looked at.
 */

type Fields = Readonly<Record<string, unknown>>

const DEPTH_MAX = 4
const REFERENCES_MAX = 16

/** A schema with `type`, `items` and `properties` alone. `components` is the target of `#/components`. */
export function shapeOf(schema: unknown, components: Fields, depth = 0): Fields {
  if (depth > DEPTH_MAX) return {}
  const fields = follow(schema, components)
  const parts = [fields, ...branchesOf(fields).map((branch) => follow(branch, components))]
  const types = parts.flatMap(({ type }) => (Array.isArray(type) ? type : [type])).filter((type) => type !== undefined)
  const properties = Object.assign({}, ...parts.map((part) => fieldsOf(part['properties']))) as Fields
  const items = parts.find((part) => part['items'] !== undefined)?.['items']
  return {
    ...(types.length > 0 && { type: types }),
    ...(items !== undefined && { items: shapeOf(items, components, depth + 1) }),
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => [name, shapeOf(inner, components, depth + 1)]),
    ),
  }
}

function branchesOf(fields: Fields): readonly unknown[] {
  return ['allOf', 'anyOf', 'oneOf'].flatMap((key) => (Array.isArray(fields[key]) ? (fields[key] as unknown[]) : []))
}

function follow(schema: unknown, components: Fields): Fields {
  let fields = fieldsOf(schema)
  for (let steps = 0; typeof fields['$ref'] === 'string' && steps < REFERENCES_MAX; steps++) {
    fields = fieldsOf(at({ components }, fields['$ref']))
  }
  return fields
}

function at(root: Fields, reference: string): unknown {
  let value: unknown = root
  for (const part of reference.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    value = Object.hasOwn(fieldsOf(value), key) ? fieldsOf(value)[key] : undefined
  }
  return value
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}
