/**
 * Whether a request target can be read in only one way.
 *
 * The gateway matches a path and the backend serves it; where the two could read it differently
 * (`/a/../b`, `//`, `%2F`, a backslash, a path parameter hung on dots, escapes that are not UTF-8: lax
 * readers take `%C0%AF` for a slash) one rule would admit what another serves. Such a target ends here,
 * before anything else looks at it. One pass over the characters, nothing allocated.
 */

const SLASH = 47
const DOT = 46
const PERCENT = 37
const SEMICOLON = 59
const QUESTION = 63
const HASH = 35
const BACKSLASH = 92

/** Where the query begins (the target's length without one), or -1 where the target is not canonical. */
export function scanTarget(target: string): number {
  const { length } = target
  if (target.charCodeAt(0) !== SLASH) return -1
  /** Characters of the segment so far, and how many of them were dots, plain or encoded. */
  let size = 0
  let dots = 0
  for (let index = 1; index < length; index++) {
    let code = target.charCodeAt(index)
    if (code === QUESTION) return isDotSegment(size, dots) ? -1 : checkQuery(target, index)
    if (code <= 32 || code >= 127 || code === BACKSLASH || code === HASH) return -1
    if (code === SLASH) {
      if (size === 0 || isDotSegment(size, dots)) return -1
      size = 0
      dots = 0
      continue
    }
    if (code === PERCENT) {
      code = decodeAt(target, index)
      if (code < 32 || code === SLASH || code === BACKSLASH || code === 127) return -1
      index = code < 128 ? index + 2 : endOfCharacter(target, index, code)
      if (index < 0) return -1
    }
    if (code === SEMICOLON && isDotSegment(size, dots)) return -1
    size++
    if (code === DOT) dots++
  }
  return isDotSegment(size, dots) ? -1 : length
}

function isDotSegment(size: number, dots: number): boolean {
  return size > 0 && size <= 2 && size === dots
}

/** A query may hold what it likes but raw control characters, spaces, non-ASCII and a fragment. */
function checkQuery(target: string, at: number): number {
  for (let index = at + 1; index < target.length; index++) {
    const code = target.charCodeAt(index)
    if (code <= 32 || code >= 127 || code === HASH) return -1
  }
  return at
}

/** The last position of the escaped character that begins at `at` with the byte `lead`, or -1 (RFC 3629, 4). */
function endOfCharacter(target: string, at: number, lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return -1
  const following = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
  for (let count = 1; count <= following; count++) {
    const index = at + count * 3
    const code = target.charCodeAt(index) === PERCENT ? decodeAt(target, index) : -1
    // Neither longer than needed, nor a surrogate, nor beyond the last character.
    const least = count > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
    const most = count > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
    if (code < least || code > most) return -1
  }
  return at + following * 3 + 2
}

/** The byte behind a percent sign, or -1 where there are no two hex digits. */
function decodeAt(target: string, at: number): number {
  const high = hexValue(target.charCodeAt(at + 1))
  const low = hexValue(target.charCodeAt(at + 2))
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function hexValue(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 65 && code <= 70) return code - 55
  if (code >= 97 && code <= 102) return code - 87
  return -1
}
