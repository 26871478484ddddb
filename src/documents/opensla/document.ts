/**
 * Parses the bytes of a declaration, YAML 1.2 or JSON, and locates each part of it in the text.
 *
 * Always uses the core schema, even if the document asks for YAML 1.1, which reads `06:00` as the number 360. Fractions stay text,
 * since a price must not pass through a float. Documents that are too large, nest aliases too deeply or repeat a key are refused
 * before any value is read.
 */

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit, YAMLParseError } from 'yaml'
import type { Document, Node } from 'yaml'
import { Problem, type TextPlace } from '../../foundation/domain/problem.ts'
import { isFields, type Fields } from './reader.ts'

export interface DeclarationDocument {
  readonly fields: Fields
  /** Returns the place of an RFC 6901 pointer; of its parent if the member is missing. */
  placeOf(pointer: string): TextPlace
}

const BYTES_MAX = 1024 * 1024
const ALIASES_MAX = 100
const START: TextPlace = { line: 1, column: 1 }

/** Throws `Problem('specification_invalid')`. */
export function readDocument(bytes: Uint8Array): DeclarationDocument {
  if (bytes.length > BYTES_MAX) throw refusal(`The declaration is larger than ${BYTES_MAX} bytes.`)
  const lines = new LineCounter()
  let document: Document
  let fields: unknown
  try {
    document = parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), lines)
    fields = document.toJS({ maxAliasCount: ALIASES_MAX })
  } catch (cause) {
    throw refusal(
      cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : 'The declaration is not valid YAML.',
      cause,
    )
  }
  if (!isFields(fields)) throw refusal('The declaration must be an object.')
  return { fields, placeOf: (pointer) => placeOf(document, lines, pointer) }
}

function parse(text: string, lineCounter: LineCounter): Document {
  const options = { version: '1.2', schema: 'core', merge: false, uniqueKeys: true, lineCounter } as const
  const document = parseDocument(text, options)
  const [error] = document.errors
  if (error !== undefined) throw error
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'number' && !Number.isSafeInteger(node.value) && node.source !== undefined) {
        node.value = node.source
      }
    },
  })
  return document
}

function placeOf(document: Document, lines: LineCounter, pointer: string): TextPlace {
  let node = document.contents
  let offset = node?.range?.[0]
  for (const part of pointer.split('/').slice(1)) {
    const next = memberOf(document, node, part.replaceAll('~1', '/').replaceAll('~0', '~'))
    if (next === null) break
    offset = next.offset ?? offset
    node = next.node
  }
  if (offset === undefined) return START
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

interface Member {
  /** Start of its key, or of the item of a list. */
  readonly offset: number | undefined
  readonly node: Node | null
}

function memberOf(document: Document, parent: Node | null, key: string): Member | null {
  const from = isAlias(parent) ? (parent.resolve(document) ?? null) : parent
  if (isSeq<Node>(from)) {
    const item = from.items[Number(key)]
    return item === undefined ? null : { offset: item.range?.[0], node: item }
  }
  if (!isMap<Node, Node | null>(from)) return null
  const pair = from.items.find((each) => isScalar(each.key) && String(each.key.value) === key)
  return pair === undefined ? null : { offset: pair.key.range?.[0], node: pair.value }
}

function refusal(detail: string, cause?: unknown): Problem {
  const at = cause instanceof YAMLParseError ? cause.linePos?.[0] : undefined
  const place = at === undefined ? START : { line: at.line, column: at.col }
  return new Problem('specification_invalid', 'The OpenSLA declaration does not parse.', {
    errors: [{ pointer: '', detail, ...place }],
    cause,
  })
}
