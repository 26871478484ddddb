/**
 * The name and the version that a document yields.
 *
 * A document that yields none is judged, but it cannot be deployed until `x-tollgate-name` or `x-tollgate-version` states it.
 */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'

export interface Identity {
  /** The title in lower case, runs of other than `a-z0-9` as `-`, trimmed. Null if the document yields none. */
  readonly name: string | null
  readonly version: FullVersion | null
}

export interface FullVersion {
  /** Semantic version. */
  readonly full: string
  readonly major: number
}

export const NAME = 'x-tollgate-name'
export const VERSION = 'x-tollgate-version'
const NAME_LENGTH_MAX = 100
const NAME_FORM = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
/** Semantic versioning 2.0.0, with a more lenient pre-release and build suffix. */
const SEMANTIC = /^(0|[1-9]\d{0,5})\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,100})?$/
const SHORT = /^(0|[1-9]\d{0,5})(?:\.(\d{1,9}))?$/

/** Appends faults of the extensions to `faults`. */
export function readIdentity(document: Fields, faults: ProblemPointer[] = []): Identity {
  const { title, version } = fieldsOf(document['info'])
  const name = toName(String(title))
  const stated = readExtension(document, NAME, faults, (value) =>
    NAME_FORM.test(value) && value.length <= NAME_LENGTH_MAX ? value : null,
  )
  const full = readExtension(document, VERSION, faults, (value) => (SEMANTIC.test(value) ? value : null))
  return {
    name: isName(name) ? name : stated,
    version: toFull(String(version)) ?? (full === null ? null : toFull(full)),
  }
}

/** Returns the reasons why a document that can be judged cannot be deployed. */
export function findNameObstacles(document: Fields, { name, version }: Identity): ProblemPointer[] {
  const obstacles: ProblemPointer[] = []
  if (name === null) {
    const detail = `The title must yield a technical name of 1 to ${NAME_LENGTH_MAX} characters a-z, 0-9 and -; otherwise the document must state one in \`${NAME}\`.`
    obstacles.push({ pointer: '/info/title', detail })
  }
  if (version === null) {
    const shown = String(fieldsOf(document['info'])['version']).slice(0, 40)
    const detail = `The version ${shown} is not a semantic version, such as 1.4.0; to be deployed, the document must state one in \`${VERSION}\`.`
    obstacles.push({ pointer: '/info/version', detail })
  }
  return obstacles
}

/** Returns null for a version that has neither one, two nor three numbers. */
function toFull(declared: string): FullVersion | null {
  const semantic = SEMANTIC.exec(declared)
  if (semantic !== null) return { full: declared, major: Number(semantic[1]) }
  const short = SHORT.exec(declared)
  if (short === null) return null
  const [, major = '0', minor = '0'] = short
  return { full: `${major}.${minor}.0`, major: Number(major) }
}

function toName(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

function isName(name: string): boolean {
  return name !== '' && name.length <= NAME_LENGTH_MAX
}

/** Reads an extension of the document, or of its `info`. */
function readExtension(
  document: Fields,
  extension: string,
  faults: ProblemPointer[],
  read: (value: string) => string | null,
): string | null {
  const info = fieldsOf(document['info'])[extension]
  const [value, pointer] = info === undefined ? [document[extension], ''] : [info, '/info']
  if (value === undefined) return null
  const result = typeof value === 'string' ? read(value) : null
  const form = extension === NAME ? 'lower-case letters, digits and hyphens, such as `gift-cards`' : 'such as 1.4.0'
  if (result === null)
    faults.push({ pointer: `${pointer}/${extension}`, detail: `The value must have the form ${form}.` })
  return result
}
