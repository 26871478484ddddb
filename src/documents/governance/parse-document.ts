/**
 * Parses the bytes of a document, YAML 1.2 or JSON, into plain data.
 *
 * Documents are untrusted, so size, depth and the number of values are bounded. The last bound
 * counts values after alias expansion, because a few lines of anchors can expand to a billion. Duplicate keys are rejected,
 * because two parsers could disagree on which one counts.
 */

import { isScalar, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { scanJson } from '../../foundation/json/json-scan.ts'
import { parseLargeYaml, YamlFault } from './large-yaml.ts'

export type ParsedDocument =
  | { readonly value: unknown; readonly mediaType: 'application/json' | 'application/yaml' }
  /** A sentence for the author of the document, with the position if it is known. */
  | { readonly fault: string; readonly place?: Place }

/** Position in the text, from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

const JSON_BYTES_MAX = 16 * 1024 * 1024
const YAML_BYTES_MAX = 10 * 1024 * 1024
/** The YAML parser needs about a second for this much; a simpler one reads longer texts. */
export const YAML_BYTES_FULL = 2 * 1024 * 1024
export const DEPTH_MAX = 256
const VALUES_MAX = 1_000_000
const VERSION: ReadonlySet<string> = new Set(['/info', '/info/version'])
/** Resolving an alias searches the whole document. */
const ALIASES_MAX = 1_000

export function parseDocumentBytes(bytes: Uint8Array): ParsedDocument {
  if (bytes.length > JSON_BYTES_MAX) return { fault: `The document has more than ${JSON_BYTES_MAX} bytes.` }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { fault: 'The document is not encoded in UTF-8.' }
  }
  const parsed = /^\s*[{[]/.test(text) ? parseJson(text) : parseYaml(text)
  // Text that starts like JSON may be YAML in flow style.
  const result = 'fault' in parsed && parsed.isYamlPossible ? parseYaml(text) : parsed
  if ('fault' in result) return { fault: result.fault, ...(result.place !== undefined && { place: result.place }) }
  const fault = measure(result.value)
  return fault === null ? result : { fault }
}

type Parsed =
  | Extract<ParsedDocument, { value: unknown }>
  | { readonly fault: string; readonly place?: Place; readonly isYamlPossible?: boolean }

function parseJson(text: string): Parsed {
  const fault = scanJson(text, { depthMax: DEPTH_MAX, membersMax: VALUES_MAX })
  if (fault !== null && fault.kind !== 'broken') {
    const place = placeOf(text, fault.index)
    return { fault: `${JSON_FAULTS[fault.kind]} (${describePlace(place)}).`, place }
  }
  try {
    return { value: JSON.parse(text), mediaType: 'application/json' }
  } catch (cause) {
    return { fault: `The document does not parse: ${messageOf(cause)}.`, isYamlPossible: text.length <= YAML_BYTES_MAX }
  }
}

const JSON_FAULTS = {
  doubled: 'An object has two members of the same name',
  deep: `The document is nested more than ${DEPTH_MAX} levels deep`,
  wide: `The document has more than ${VALUES_MAX} values`,
} as const

/** Sentences in place of messages that are written for users of the parser. */
const YAML_FAULTS: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'The text holds several YAML documents; send one.',
  NON_STRING_KEY: 'The keys of a YAML document must be texts.',
  RESOURCE_EXHAUSTION: `${JSON_FAULTS.deep}.`,
}
const TOO_MANY_ALIASES = 'The aliases of the document expand to too many values.'

function parseYaml(text: string): Parsed {
  if (text.length > YAML_BYTES_MAX)
    return { fault: `A YAML document must not exceed ${YAML_BYTES_MAX} bytes; send a larger one as JSON.` }
  if (text.length > YAML_BYTES_FULL) return parseLarge(text)
  const lineCounter = new LineCounter()
  try {
    // `findKeyFault` checks for duplicate keys; the parser's own check is quadratic in the size of a map.
    const document = parseDocument(text, { version: '1.2', uniqueKeys: false, stringKeys: true, lineCounter })
    const [error] = document.errors
    if (error !== undefined) {
      const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
      return {
        fault: YAML_FAULTS[error.code] ?? `The document does not parse: ${messageOf(error)}.`,
        place: { line, column: col },
      }
    }
    const fault = findKeyFault(document, lineCounter)
    if (fault !== null) return fault
    keepVersion(document)
    return { value: document.toJS({ maxAliasCount: ALIASES_MAX }), mediaType: 'application/yaml' }
  } catch (cause) {
    const isExpansion = messageOf(cause).startsWith('Excessive alias count')
    return { fault: isExpansion ? TOO_MANY_ALIASES : `The document cannot be read: ${messageOf(cause)}.` }
  }
}

function parseLarge(text: string): Parsed {
  try {
    const { value, offsets } = parseLargeYaml(text, { depthMax: DEPTH_MAX, wanted: VERSION })
    const { info } = value as { readonly info?: Record<string, unknown> }
    const source = /^version: *([-+.0-9]+)/.exec(text.slice(offsets.get('/info/version')).slice(0, 80))?.[1]
    if (typeof info?.['version'] === 'number' && source !== undefined) info['version'] = source
    return { value, mediaType: 'application/yaml' }
  } catch (cause) {
    if (!(cause instanceof YamlFault)) throw cause
    const place = placeOf(text, cause.offset)
    return { fault: `${cause.message} (${describePlace(place)}).`, place }
  }
}

/** Keeps the text of a version that YAML reads as a number: 1.10 is not 1.1. */
function keepVersion(document: Document.Parsed): void {
  const version = document.getIn(['info', 'version'], true)
  if (isScalar(version) && typeof version.value === 'number' && version.source !== undefined)
    version.value = version.source
}

function findKeyFault(document: Document.Parsed, lines: LineCounter): { fault: string; place?: Place } | null {
  let fault: { fault: string; place?: Place } | null = null
  let aliases = 0
  visit(document, {
    Map(_, map) {
      const names = new Set<string>()
      for (const { key } of map.items) {
        const name = isScalar(key) ? String(key.value) : ''
        if (names.has(name)) {
          const { line, col } = lines.linePos(isScalar(key) ? (key.range?.[0] ?? 0) : 0)
          const place = { line, column: col }
          fault = { fault: `The key ${name.slice(0, 80)} occurs twice in one map (${describePlace(place)}).`, place }
          return visit.BREAK
        }
        names.add(name)
      }
      return undefined
    },
    Alias(_, { source, range }, path) {
      // Compares with the ancestors only; resolving each alias would be quadratic in the size of the document.
      const isCircle = path.some((node) => 'anchor' in node && node.anchor === source)
      if (!isCircle && ++aliases <= ALIASES_MAX) return undefined
      const { line, col: column } = lines.linePos(range?.[0] ?? 0)
      const detail = isCircle
        ? `The anchor ${source.slice(0, 80)} contains an alias of itself.`
        : `The document has more than ${ALIASES_MAX} aliases.`
      fault = { fault: detail, place: { line, column } }
      return visit.BREAK
    },
  })
  return fault
}

/** Checks depth and number of values after alias expansion; iterative, because documents can be deep. */
function measure(root: unknown): string | null {
  let values = 0
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (++values > VALUES_MAX) return `The document has more than ${VALUES_MAX} values.`
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    if (depth > DEPTH_MAX) return `The document is nested more than ${DEPTH_MAX} levels deep.`
    for (const inner of Object.values(value)) open.push({ value: inner, depth: depth + 1 })
  }
  return null
}

/** Returns the number of values of a parsed document, whose depth is bounded. */
export function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const inner of Object.values(value)) count += countValues(inner)
  return count
}

function placeOf(text: string, index: number): Place {
  const before = text.slice(0, index)
  return { line: before.split('\n').length, column: index - before.lastIndexOf('\n') }
}

function describePlace({ line, column }: Place): string {
  return `line ${line}, column ${column}`
}

/** Returns the first line; the others draw an excerpt of the text. */
function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  return (message.split('\n')[0] ?? '').replace(/[.:]+$/, '').slice(0, 300)
}
