/** Compares JSON values by a text that is equal for equal values. */

/** Whether two items of a list are equal: one pass over the list, whatever its length. */
export function hasTwins(items: readonly unknown[]): boolean {
  const seen = new Set<string>()
  for (const item of items) {
    const text = toCanonicalText(item)
    if (seen.has(text)) return true
    seen.add(text)
  }
  return false
}

/** Equal for equal values: members in alphabetical order. Values come from a parser that bounds their depth. */
export function toCanonicalText(value: unknown): string {
  // Not as JSON: a number that is too large for a double is read as infinite, which JSON writes as null.
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(toCanonicalText).join(',')}]`
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${toCanonicalText(inner)}`).join(',')}}`
}
