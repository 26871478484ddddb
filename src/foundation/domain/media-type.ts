/**
 * Parses `Content-Type` strictly (RFC 9110, 8.3.1). A value that does not parse is not a media type, so that a more lenient backend
 * cannot read a different one.
 */

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly type: string
  /** False if the charset is neither UTF-8 nor its subset ASCII. */
  readonly isUtf8: boolean
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const VALUE = `(?:${TOKEN}|"(?:[^"\\\\\\x00-\\x08\\x0a-\\x1f\\x7f-\\uffff]|\\\\[\\t -~])*")`
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})((?:[ \\t]*;[ \\t]*${TOKEN}=${VALUE})*)$`)
const PARAMETERS = new RegExp(`;[ \\t]*(${TOKEN})=(${VALUE})`, 'g')
const LENGTH_MAX = 512
const JSON_PLAIN: MediaType = { type: 'application/json', isUtf8: true }

/** Returns null if the value is not a media type, or repeats a parameter. */
export function parseMediaType(text: string): MediaType | null {
  if (text === 'application/json') return JSON_PLAIN
  if (text.length > LENGTH_MAX) return null
  const match = MEDIA_TYPE.exec(text)
  if (match === null) return null
  const names = new Set<string>()
  let isUtf8 = true
  for (const [, name = '', value = ''] of (match[2] ?? '').matchAll(PARAMETERS)) {
    const lower = name.toLowerCase()
    if (names.has(lower)) return null
    names.add(lower)
    if (lower === 'charset') isUtf8 = /^"?(?:utf-?8|us-ascii)"?$/i.test(value)
  }
  return { type: (match[1] ?? '').toLowerCase(), isUtf8 }
}

export function isJson(type: string): boolean {
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json')
}
