/**
 * From the bytes of a document to plain data, YAML 1.2 or JSON.
 *
 * Documents come from strangers and are read in the main thread, so everything about them is bounded:
 * bytes, depth, and the values that aliases unfold to (a few lines of anchors can name a billion). A
 * key that comes twice is refused: two readers could each believe another one.
 */

import { isScalar, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { scanJson } from '../json/json-scan.ts'

export type ParsedDocument =
  | { readonly value: unknown; readonly mediaType: 'application/json' | 'application/yaml' }
  /** A sentence for whoever wrote the document, and where it is, as far as that is known. */
  | { readonly fault: string; readonly place?: Place }

/** In the text, from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

const JSON_BYTES_MAX = 16 * 1024 * 1024
/** The YAML parser needs about a second for this much. */
const YAML_BYTES_MAX = 2 * 1024 * 1024
const DEPTH_MAX = 256
const VALUES_MAX = 1_000_000
/** Each is looked up in the whole document. */
const ALIASES_MAX = 1_000

export function parseDocumentBytes(bytes: Uint8Array): ParsedDocument {
  if (bytes.length > JSON_BYTES_MAX) return { fault: `It has more than ${JSON_BYTES_MAX} bytes.` }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { fault: 'It is not UTF-8.' }
  }
  const parsed = /^\s*[{[]/.test(text) ? parseJson(text) : parseYaml(text)
  // What only looks like JSON may be YAML in flow style.
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
    return { fault: `${JSON_FAULTS[fault.kind]} (${inWords(place)}).`, place }
  }
  try {
    return { value: JSON.parse(text), mediaType: 'application/json' }
  } catch (cause) {
    return { fault: `It does not parse: ${messageOf(cause)}.`, isYamlPossible: text.length <= YAML_BYTES_MAX }
  }
}

const JSON_FAULTS = {
  doubled: 'An object has two members of one name',
  deep: `It is nested more than ${DEPTH_MAX} levels deep`,
  wide: `It has more than ${VALUES_MAX} values`,
} as const

function parseYaml(text: string): Parsed {
  if (text.length > YAML_BYTES_MAX) return { fault: `As YAML it takes at most ${YAML_BYTES_MAX} bytes; send JSON.` }
  const lineCounter = new LineCounter()
  try {
    // Doubled keys are looked for below: the parser's own check takes the square of a map's size.
    const document = parseDocument(text, { version: '1.2', uniqueKeys: false, stringKeys: true, lineCounter })
    const [error] = document.errors
    if (error !== undefined) {
      const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
      return { fault: `It does not parse: ${messageOf(error)}.`, place: { line, column: col } }
    }
    const fault = findKeyFault(document, lineCounter)
    if (fault !== null) return fault
    return { value: document.toJS({ maxAliasCount: ALIASES_MAX }), mediaType: 'application/yaml' }
  } catch (cause) {
    return { fault: `It cannot be read: ${messageOf(cause)}.` }
  }
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
          fault = { fault: `The key ${name.slice(0, 80)} comes twice in one map (${inWords(place)}).`, place }
          return visit.BREAK
        }
        names.add(name)
      }
      return undefined
    },
    Alias(_, { source, range }, path) {
      // Looked for among the ancestors alone: resolving each alias would take the square of the document.
      const isCircle = path.some((node) => 'anchor' in node && node.anchor === source)
      if (!isCircle && ++aliases <= ALIASES_MAX) return undefined
      const { line, col: column } = lines.linePos(range?.[0] ?? 0)
      const what = isCircle
        ? `The anchor ${source.slice(0, 80)} holds itself.`
        : `It has more than ${ALIASES_MAX} aliases.`
      fault = { fault: what, place: { line, column } }
      return visit.BREAK
    },
  })
  return fault
}

/** Counts what the document unfolds to, without recursion. */
function measure(root: unknown): string | null {
  let values = 0
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (++values > VALUES_MAX) return `It has more than ${VALUES_MAX} values.`
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    if (depth > DEPTH_MAX) return `It is nested more than ${DEPTH_MAX} levels deep.`
    for (const inner of Object.values(value)) open.push({ value: inner, depth: depth + 1 })
  }
  return null
}

function placeOf(text: string, index: number): Place {
  const before = text.slice(0, index)
  return { line: before.split('\n').length, column: index - before.lastIndexOf('\n') }
}

function inWords({ line, column }: Place): string {
  return `line ${line}, column ${column}`
}

/** The first line: the ones behind it draw the place. */
function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  return (message.split('\n')[0] ?? '').replace(/[.:]+$/, '').slice(0, 300)
}
