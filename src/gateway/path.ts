/**
 * Whether a request target can be read in only one way.
 *
 * The gateway matches a path and the backend serves it; where the two could read it differently
 * (`/a/../b`, `//`, `%2F`, a backslash, a path parameter hung on dots) one rule would admit what
 * another serves. Such a target ends here, before anything else looks at it. One pass over the
 * characters, nothing allocated.
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
    if (code === SEMICOLON && isDotSegment(size, dots)) return -1
    if (code === PERCENT) {
      code = decodeAt(target, index)
      if (code < 32 || code === SLASH || code === BACKSLASH || code === 127) return -1
      index += 2
    }
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
