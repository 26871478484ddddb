/**
 * Quotes what an operator gave, in a message about a malformed setting.
 *
 * A message repeats nothing that may be a secret: a slip in one name puts the value of another setting, such as the URL of a database
 * or a key in PEM, in an unexpected place.
 */

const SHOWN_MAX = 100
/** A user name and password, a query, an assignment, PEM, control characters, or the end of a key that spans lines. */
const SUSPECT = /[@?=\p{Cc}]|-----/u
/** As generated tokens and keys are: long, in one word, with letters and digits. */
const GENERATED = /(?=[\w+/~-]*\d)(?=[\w+/~-]*[a-z])[\w+/~-]{16}/i

/** Returns `, not "8O80"`; an empty text if the value may be a secret. */
export function notThis(value: string): string {
  const shown = value.slice(0, SHOWN_MAX)
  return SUSPECT.test(value) || GENERATED.test(shown) ? '' : `, not "${shown}"`
}
