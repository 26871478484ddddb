/** Whether two items of a list are equal as JSON values: one pass over the list, whatever its length. */

export function hasTwins(items: readonly unknown[]): boolean {
  const seen = new Set<string>()
  for (const item of items) {
    const text = toText(item)
    if (seen.has(text)) return true
    seen.add(text)
  }
  return false
}

/** Equal for equal values: members in alphabetical order. Values come from a parser that bounds their depth. */
function toText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(toText).join(',')}]`
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${toText(inner)}`).join(',')}}`
}
