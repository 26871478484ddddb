/**
 * Reads `Content-Type` strictly (RFC 9110, 8.3.1): what cannot be read is not a media type, so that no
 * laxer reader behind us finds another one in it.
 */

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const PARAMETER = `[ \\t]*;[ \\t]*(?:(${TOKEN})=(?:${TOKEN}|"(?:[^"\\\\\\x00-\\x1f]|\\\\[ -~])*"))?`
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})((?:${PARAMETER})*)[ \\t]*$`)
const NAMES = new RegExp(`;[ \\t]*(${TOKEN})=`, 'g')
const LENGTH_MAX = 512

/** `type/subtype` in lower case, or null where it is not one, or a parameter comes twice. */
export function parseMediaType(text: string): string | null {
  if (text === 'application/json') return text
  if (text.length > LENGTH_MAX) return null
  const match = MEDIA_TYPE.exec(text)
  if (match === null) return null
  const names = [...(match[2] ?? '').matchAll(NAMES)].map(([, name]) => name?.toLowerCase())
  return new Set(names).size === names.length ? (match[1]?.toLowerCase() ?? null) : null
}

export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json')
}
