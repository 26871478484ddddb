/** The operations of a document, each with an id that is stable between versions, and checks that each one is reachable. */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { escapePointer, resolvePointer } from '../../foundation/json/references.ts'

export interface DeclaredOperation {
  readonly operationId: string
  /** Upper case. */
  readonly method: string
  readonly path: string
  readonly fields: Fields
  /** Parameters of the path item. */
  readonly shared: readonly unknown[]
  readonly pointer: string
  /** Pointer of the path item; outside `paths` if the entry there is a reference. */
  readonly itemPointer: string
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const
const ID_LENGTH_MAX = 256
const OPERATIONS_MAX = 5_000
const REFERENCES_MAX = 16

export const NO_OPERATION: ProblemPointer = { pointer: '/paths', detail: 'The document declares no operation.' }

/** Returns the operations in document order. Appends faults to `faults`. */
export function readOperations(document: Fields, faults: ProblemPointer[]): DeclaredOperation[] {
  const operations = Object.entries(fieldsOf(document['paths']))
    .filter(([path]) => path.startsWith('/'))
    .flatMap(([path, item]) => readItem(document, path, item))
  // Webhooks are judged as well, although the gateway serves none.
  if (operations.length === 0 && Object.keys(fieldsOf(document['webhooks'])).length === 0) faults.push(NO_OPERATION)
  if (operations.length > OPERATIONS_MAX) {
    faults.push({ pointer: '/paths', detail: `The document must not declare more than ${OPERATIONS_MAX} operations.` })
  }
  findIdFaults(operations, faults)
  findPathFaults(operations, faults)
  return operations
}

export function declaresOperation(document: Fields): boolean {
  return Object.entries(fieldsOf(document['paths'])).some(
    ([path, item]) => path.startsWith('/') && readItem(document, path, item).length > 0,
  )
}

function readItem(document: Fields, path: string, item: unknown): DeclaredOperation[] {
  let fields = fieldsOf(item)
  let itemPointer = `/paths/${escapePointer(path)}`
  for (let count = 0; typeof fields['$ref'] === 'string' && count < REFERENCES_MAX; count++) {
    const reference = fields['$ref']
    if (!reference.startsWith('#/')) break
    fields = fieldsOf(resolvePointer(document, reference))
    itemPointer = reference.slice(1)
  }
  const shared = Array.isArray(fields['parameters']) ? (fields['parameters'] as readonly unknown[]) : []
  return METHODS.filter((method) => typeof fields[method] === 'object' && fields[method] !== null).map((method) => {
    const operation = fieldsOf(fields[method])
    const operationId = typeof operation['operationId'] === 'string' ? operation['operationId'] : `${method}_${path}`
    const pointer = `${itemPointer}/${method}`
    return { operationId, method: method.toUpperCase(), path, fields: operation, shared, pointer, itemPointer }
  })
}

function findIdFaults(operations: readonly DeclaredOperation[], faults: ProblemPointer[]): void {
  const seen = new Set<string>()
  for (const { operationId, pointer } of operations) {
    const at = `${pointer}/operationId`
    if (seen.has(operationId)) faults.push({ pointer: at, detail: 'Another operation has the same `operationId`.' })
    // `*` stands for all operations in a declaration of limits.
    if (operationId === '' || operationId === '*' || operationId.length > ID_LENGTH_MAX) {
      faults.push({
        pointer: at,
        detail: `The \`operationId\` must have 1 to ${ID_LENGTH_MAX} characters and must not be *.`,
      })
    }
    seen.add(operationId)
  }
}

const SEGMENT = /^(?:[^{}?#\\\s]|\{[^{}]+\})*$/
const PARAMETER = /\{[^{}]*\}/g
/** Decoded text that two parsers of a path could read differently. */
// oxlint-disable-next-line no-control-regex
const AMBIGUOUS = /^\.{1,2}(?:;|$)|[/\\\u0000-\u001f\u007f]/

function findPathFaults(operations: readonly DeclaredOperation[], faults: ProblemPointer[]): void {
  const seen = new Set<string>()
  for (const { method, path, pointer } of operations) {
    const segments = path.slice(1).split('/')
    const shapes = segments.map(toShape)
    const isReachable = segments.every(
      (segment, index) => shapes[index] !== null && (segment !== '' || index === segments.length - 1),
    )
    if (!isReachable) {
      faults.push({ pointer, detail: 'No request in canonical form can match this path.' })
      continue
    }
    const shape = `${method} /${shapes.join('/')}`
    if (seen.has(shape)) {
      const detail =
        'Another path of the same method differs from this one only in parameter names or in percent-encoding.'
      faults.push({ pointer, detail })
    }
    seen.add(shape)
  }
}

/** Returns the same text for all segments that match the same requests; null for one that matches none. */
function toShape(segment: string): string | null {
  if (!SEGMENT.test(segment) || segment.includes('}{')) return null
  const texts = segment.split(PARAMETER)
  try {
    // The separator occurs in no text.
    const shape = texts.map((text) => decodeURIComponent(text)).join('\n')
    return AMBIGUOUS.test(texts.length > 1 ? shape.replaceAll('\n', '{}') : shape) ? null : shape
  } catch {
    return null
  }
}
