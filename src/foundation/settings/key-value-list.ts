/** Lists of the form `key=value,key=value` with percent-encoded values, as variables of OpenTelemetry have them. */

/** Returns null for an entry that is not of that form; the order is that of the text. */
export function readKeyValues(text: string): readonly (readonly [string, string] | null)[] {
  const entries = text.split(',').filter((entry) => entry.trim() !== '')
  return entries.map((entry) => {
    const equals = entry.indexOf('=')
    if (equals < 1) return null
    const key = decoded(entry.slice(0, equals).trim())
    const value = decoded(entry.slice(equals + 1).trim())
    return key === null || key === '' || value === null ? null : [key, value]
  })
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
