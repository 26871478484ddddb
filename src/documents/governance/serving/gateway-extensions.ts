/** The `x-tollgate-…` members of a document that change how the gateway forwards its calls. */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import type { Fields } from '../../../foundation/json/fields.ts'
import type { OperationPlan } from '../../../boundary/plan/route-plan.ts'
import type { DeclaredOperation } from '../operations.ts'

const PASS_HEADERS = 'x-tollgate-pass-headers'
const MIN_READ = 'x-tollgate-min-read-bytes-per-second'
/** Headers that the gateway drops unless they are listed, because they make a backend serve another method or path. */
const OVERRIDES: readonly string[] = [
  'x-http-method-override',
  'x-method-override',
  'x-http-method',
  'x-original-url',
  'x-rewrite-url',
]
export const CLIENT_CERTIFICATE = 'x-tollgate-client-certificate'
const REQUIRED = 'required'
const NOT_REQUIRED = 'not-required'
const READ_BYTES_PER_SECOND_LIMIT = 1_000_000

/** Returns the override headers, in lower case, that the gateway forwards for this operation. */
export function readPassHeaders(
  document: Fields,
  { fields, pointer }: DeclaredOperation,
  faults: ProblemPointer[],
): readonly string[] {
  const [value, at] =
    fields[PASS_HEADERS] === undefined ? [document[PASS_HEADERS], ''] : [fields[PASS_HEADERS], pointer]
  if (value === undefined) return []
  const names = Array.isArray(value)
    ? value.map((name: unknown) => (typeof name === 'string' ? name.toLowerCase() : ''))
    : ['']
  if (names.every((name) => OVERRIDES.includes(name))) return names
  const place = `${at}/${PASS_HEADERS}`
  if (!faults.some((fault) => fault.pointer === place)) {
    faults.push({ pointer: place, detail: `The value must be a list of ${OVERRIDES.join(', ')}.` })
  }
  return []
}

/** Returns the minimum rate at which a client must read a response; undefined: the default of the gateway. */
export function readMinRead(document: Fields, faults: ProblemPointer[]): number | undefined {
  const value = document[MIN_READ]
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= READ_BYTES_PER_SECOND_LIMIT) {
    return value
  }
  faults.push({
    pointer: `/${MIN_READ}`,
    detail: `The value must be an integer from 1 to ${READ_BYTES_PER_SECOND_LIMIT} (bytes per second).`,
  })
  return undefined
}

/** Whether calls of an operation must come over a client certificate, by the operation, else by the document. */
export function requiresCertificate(document: Fields, { fields }: Pick<DeclaredOperation, 'fields'>): boolean {
  return (fields[CLIENT_CERTIFICATE] ?? document[CLIENT_CERTIFICATE]) === REQUIRED
}

/** An operation that needs no credential has none that could be bound to a certificate. */
export function readClientCertificate(
  document: Fields,
  operation: DeclaredOperation,
  isPublic: boolean,
  faults: ProblemPointer[],
): Pick<OperationPlan, 'requiresCertificate'> {
  const { fields, pointer } = operation
  const isOwn = fields[CLIENT_CERTIFICATE] !== undefined
  const value = isOwn ? fields[CLIENT_CERTIFICATE] : document[CLIENT_CERTIFICATE]
  const place = `${isOwn ? pointer : ''}/${CLIENT_CERTIFICATE}`
  if (value !== undefined && value !== REQUIRED && value !== NOT_REQUIRED) {
    const isKnown = faults.some((fault) => fault.pointer === place)
    if (!isKnown) faults.push({ pointer: place, detail: `The value must be ${REQUIRED} or ${NOT_REQUIRED}.` })
  }
  if (!requiresCertificate(document, operation)) return {}
  if (isPublic) {
    const detail = `The operation needs no credential that could be bound to a client certificate. Declare \`${CLIENT_CERTIFICATE}: ${NOT_REQUIRED}\` for it, or a credential.`
    faults.push({ pointer: isOwn ? place : pointer, detail })
  }
  return { requiresCertificate: true }
}
