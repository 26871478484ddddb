/** Returns the members of a value from outside; a value that is not an object has none. */

export type Fields = Readonly<Record<string, unknown>>

const NONE: Fields = {}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NONE
}

/** The value if it is a list, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}
