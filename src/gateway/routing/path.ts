/**
 * Checks that a request target is canonical.
 *
 * The gateway matches a path and the backend serves it. If the two could read a path differently, the gateway would apply the
 * rules of one operation while the backend executes another one. Such paths contain `/a/../b`, `//`, `%2F`, a backslash, path
 * parameters after dots, or escapes that are not UTF-8 (lax decoders read `%C0%AF` as a slash). They are refused before any other
 * check. The scan is one pass over the characters without allocation.
 */

const SLASH = 47
const DOT = 46
const PERCENT = 37
const SEMICOLON = 59
const QUESTION = 63
const HASH = 35
const BACKSLASH = 92

/** Returns the start of the query (the length of the target if there is none), or -1 if the target is not canonical. */
export function scanTarget(target: string): number {
  const { length } = target
  if (target.charCodeAt(0) !== SLASH) return -1
  /** Number of characters of the current segment, and of dots among them, plain or encoded. */
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

/** Returns `at` unless the query contains raw control characters, spaces, non-ASCII characters or a fragment. */
function checkQuery(target: string, at: number): number {
  for (let index = at + 1; index < target.length; index++) {
    const code = target.charCodeAt(index)
    if (code <= 32 || code >= 127 || code === HASH) return -1
  }
  return at
}

/** Returns the last position of the escaped character that starts at `at` with the byte `lead`, or -1 (RFC 3629, 4). */
function endOfCharacter(target: string, at: number, lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return -1
  const following = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
  for (let count = 1; count <= following; count++) {
    const index = at + count * 3
    const code = target.charCodeAt(index) === PERCENT ? decodeAt(target, index) : -1
    // Excludes overlong encodings, surrogates and values above U+10FFFF.
    const least = count > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
    const most = count > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
    if (code < least || code > most) return -1
  }
  return at + following * 3 + 2
}

/** Returns the byte after a percent sign, or -1 if two hex digits are missing. */
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
