/**
 * The bytes of a declaration as plain data: YAML 1.2, of which JSON is a part.
 *
 * The core schema is asked for whatever the document says of itself: under YAML 1.1 `06:00` is the
 * number 360. Fractions stay the text they were written as, since a price must not pass through a
 * float. Size, depth of aliases and duplicate keys are refused before anything is read.
 */

import { parseDocument, visit } from 'yaml'
import { Problem } from '../domain/problem.ts'
import { isFields, type Fields } from './reader.ts'

const BYTES_MAX = 1024 * 1024
const ALIASES_MAX = 100

/** Throws `Problem('specification_invalid')`. */
export function readDocument(bytes: Uint8Array): Fields {
  if (bytes.length > BYTES_MAX) throw refusal(`A declaration takes at most ${BYTES_MAX} bytes.`)
  let value: unknown
  try {
    value = parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw refusal(cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : 'It is not YAML.', cause)
  }
  if (!isFields(value)) throw refusal('A declaration is an object.')
  return value
}

function parse(text: string): unknown {
  const document = parseDocument(text, { version: '1.2', schema: 'core', merge: false, uniqueKeys: true })
  const [error] = document.errors
  if (error !== undefined) throw error
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'number' && !Number.isSafeInteger(node.value) && node.source !== undefined) {
        node.value = node.source
      }
    },
  })
  return document.toJS({ maxAliasCount: ALIASES_MAX })
}

function refusal(detail: string, cause?: unknown): Problem {
  return new Problem('specification_invalid', 'The OpenSLA declaration does not parse.', {
    errors: [{ pointer: '', detail }],
    cause,
  })
}
