/** The canonical text of a JSON value, by which values are compared. */

/** Returns whether two items of a list are equal, in one pass over the list. */
export function hasDuplicates(items: readonly unknown[]): boolean {
  const seen = new Set<string>()
  for (const item of items) {
    const text = toCanonicalText(item)
    if (seen.has(text)) return true
    seen.add(text)
  }
  return false
}

/** Returns a text that is equal for equal values: members are sorted by name. The parser of the values bounds their depth. */
export function toCanonicalText(value: unknown): string {
  // `JSON.stringify` would write Infinity, as which a number too large for a double is read, as null.
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(toCanonicalText).join(',')}]`
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${toCanonicalText(inner)}`).join(',')}}`
}
