/**
 * Reduces the errors of a JSON Schema validator to those that name a cause.
 *
 * A validator reports a failed `anyOf`, and the errors of each of its alternatives, for one wrong value. Only the error of the
 * deepest value remains, and one error per value.
 */

import type { ProblemPointer } from '../domain/problem.ts'
import { escapePointer } from './references.ts'

export interface SchemaError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
  /** Set if the name of a member is wrong. */
  readonly propertyName?: string
}

/** Keywords whose errors only say that an inner schema failed. */
const COMPOSED: ReadonlySet<string> = new Set(['if', 'anyOf', 'oneOf', 'propertyNames'])
const ALTERNATIVES: ReadonlySet<string> = new Set(['anyOf', 'oneOf'])
/** Reported falsely for an object whose other keywords failed. */
const DEPENDENT: ReadonlySet<string> = new Set(['unevaluatedProperties', 'unevaluatedItems'])
const VALUES_SHOWN_MAX = 20

export function toPreciseFaults(errors: readonly SchemaError[]): ProblemPointer[] {
  const causes = errors.filter(({ keyword }) => !COMPOSED.has(keyword) && !DEPENDENT.has(keyword))
  const explained = new Set<string>()
  for (const { instancePath } of causes) addWithAncestors(explained, instancePath)
  // All alternatives failed at these places; one error stands for them.
  const failed = errors.filter(({ keyword }) => ALTERNATIVES.has(keyword))
  const alternatives = new Set(failed.map(({ instancePath }) => instancePath))
  const deeper = new Set<string>()
  for (const { instancePath } of causes) addWithAncestors(deeper, parentOf(instancePath))
  const faults = new Map<string, ProblemPointer>()
  const add = (fault: ProblemPointer): unknown => faults.set(`${fault.pointer} ${fault.detail}`, fault)
  const chosen = new Set<string>()
  // A value of the wrong type fails other keywords as well.
  const mistyped = new Set(causes.filter(isOfType).map(({ instancePath }) => instancePath))
  for (const error of [...causes].sort(byChoice)) {
    const { instancePath: at } = error
    if (alternatives.has(at) ? deeper.has(at) || chosen.has(at) : mistyped.has(at) && !isOfType(error)) continue
    chosen.add(at)
    add(toFault(error))
  }
  for (const error of errors) if (isUnexplained(error, explained)) add(toFault(error))
  if (faults.size === 0) for (const error of errors) add(toFault(error))
  return [...faults.values()]
}

function isOfType({ keyword }: SchemaError): boolean {
  return keyword === 'type'
}

function isUnexplained({ keyword, instancePath }: SchemaError, explained: ReadonlySet<string>): boolean {
  return (ALTERNATIVES.has(keyword) || DEPENDENT.has(keyword)) && !explained.has(instancePath)
}

/** A list of allowed values tells an author most. */
function byChoice(a: SchemaError, b: SchemaError): number {
  return Number(b.keyword === 'enum') - Number(a.keyword === 'enum')
}

function addWithAncestors(pointers: Set<string>, pointer: string | null): void {
  for (let at = pointer; at !== null && !pointers.has(at); at = parentOf(at)) pointers.add(at)
}

function parentOf(pointer: string): string | null {
  return pointer === '' ? null : pointer.slice(0, pointer.lastIndexOf('/'))
}

function toFault(error: SchemaError): ProblemPointer {
  const { instancePath, params, propertyName, message = 'is not valid' } = error
  if (propertyName !== undefined)
    return { pointer: `${instancePath}/${escapePointer(propertyName)}`, detail: `The name of this member ${message}.` }
  const name = params['additionalProperty'] ?? params['unevaluatedProperty']
  if (typeof name === 'string')
    return { pointer: `${instancePath}/${escapePointer(name)}`, detail: 'This member is not allowed here.' }
  const values = params['allowedValues']
  if (!Array.isArray(values)) return { pointer: instancePath, detail: `The value ${message}.` }
  const shown = values.slice(0, VALUES_SHOWN_MAX).map((value) => JSON.stringify(value))
  return { pointer: instancePath, detail: `The value must be one of ${shown.join(', ')}.` }
}
