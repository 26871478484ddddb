/**
 * Two versions of the schemas of requests or of responses.
 *
 * A request schema may only widen and a response schema may only narrow: the prover decides, and the walk names the places that
 * break it. Pairs of schemas are collected first, because the validator is compiled over the components of both documents.
 */

import { fieldsOf, type Fields } from '../../json/fields.ts'
import { resolvePointer } from '../../json/references.ts'
import { createSchemaCompiler } from '../../schema/schema-compiler.ts'
import { createSchemaStore } from '../../schema/schema-store.ts'
import { createCandidates } from '../containment/candidates.ts'
import type { Prover } from '../containment/proof.ts'
import { createProver } from '../containment/prover.ts'
import type { SchemaSet } from '../containment/schema-set.ts'
import type { Specification } from '../specification.ts'
import type { Report, RuleId } from './change.ts'
import { createMemberComparison } from './member-comparison.ts'
import type { Difference, DifferenceKind } from './difference.ts'
import { createDifferences } from './schema-differences.ts'

export type Direction = 'request' | 'response'

/** A schema at its place; `undefined` accepts every value. */
export interface Placed {
  readonly schema: unknown
  readonly pointer: string
}

export interface SchemaComparison {
  /** Compares the two schemas when `finish` is called. */
  add(before: Placed, after: Placed, operation: string, kind?: 'text' | 'json'): void
  finish(): void
}

export type Side = Pick<Specification, 'document' | 'dialect'>

const REQUEST_RULES: Readonly<Record<DifferenceKind, RuleId>> = {
  type: 'request.type',
  value: 'request.enum.removed',
  bound: 'request.bound',
  pattern: 'request.pattern',
  format: 'request.format',
  required: 'request.property.required',
  property: 'request.property.refused',
  closed: 'request.closed',
  alternative: 'request.alternative.removed',
  other: 'request.narrowed',
}
const RESPONSE_RULES: Readonly<Record<DifferenceKind, RuleId>> = {
  type: 'response.type',
  value: 'response.enum.added',
  bound: 'response.bound',
  pattern: 'response.pattern',
  format: 'response.format',
  required: 'response.property.optional',
  property: 'response.property.removed',
  closed: 'response.opened',
  alternative: 'response.alternative.added',
  other: 'response.widened',
}

interface Pair {
  readonly before: Placed
  readonly after: Placed
  readonly operation: string
  /** The value of a parameter is a text before it is a number or a boolean. */
  readonly kind: 'text' | 'json'
  readonly one: unknown
  readonly other: unknown
}

export function createSchemaComparison(
  sides: { readonly previous: Side; readonly next: Side },
  direction: Direction,
  report: Report,
): SchemaComparison {
  const places = new WeakMap<object, string>()
  const components: Record<string, unknown> = {}
  const before = open(sides.previous, 'before.')
  const after = open(sides.next, 'after.')
  const pairs: Pair[] = []

  function open({ document, dialect }: Side, namePrefix: string) {
    const locate = (schema: object, pointer: string): void => void places.set(schema, pointer)
    // Faults keep a document from being served; they are reported by its checks.
    return createSchemaStore({ document, dialect, direction, faults: [], namePrefix, locate })
  }

  return {
    add(one, other, operation, kind = 'json') {
      pairs.push({
        before: one,
        after: other,
        operation,
        kind,
        one: before.convert(one.schema ?? true, one.pointer),
        other: after.convert(other.schema ?? true, other.pointer),
      })
    },
    finish() {
      Object.assign(components, fieldsOf(before.components()['schemas']), fieldsOf(after.components()['schemas']))
      const compare = createPairComparison({ sides, direction, components, report, places })
      for (const pair of pairs) compare(pair)
    },
  }
}

interface PairOptions {
  readonly sides: { readonly previous: Side; readonly next: Side }
  readonly direction: Direction
  readonly components: Fields
  readonly report: Report
  readonly places: WeakMap<object, string>
}

function createPairComparison({ sides, direction, components, report, places }: PairOptions): (pair: Pair) => void {
  const isRequest = direction === 'request'
  const locate = (part: Fields): string | null => places.get(part) ?? null
  const rawOf = (document: Fields) => (part: Fields) => {
    const place = locate(part)
    return place === null ? {} : fieldsOf(resolvePointer(document, `#${place}`))
  }
  const prover = createProver({
    components,
    compile: compileWith(components),
    tolerance: isRequest ? 'declared by outer' : 'declared by inner',
  })
  const candidates = createCandidates(prover)
  const differences = createDifferences({ prover, candidates, locate })
  const members = createMemberComparison({
    prover,
    direction,
    locate,
    before: rawOf(sides.previous.document),
    after: rawOf(sides.next.document),
  })
  const known = new Map<string, readonly Difference[]>()

  function find(inner: SchemaSet, outer: SchemaSet): readonly Difference[] {
    const key = `${inner.key}|${outer.key}`
    let found = known.get(key)
    if (found === undefined) known.set(key, (found = differences.find(inner, outer)))
    return found
  }

  return ({ before, after, operation, kind, one, other }) => {
    const [was, is] = [prover.sets.of(one), prover.sets.of(other)]
    prover.reset()
    try {
      const differs = kind === 'json' || !takesEveryText(prover, was, is)
      for (const each of differs ? find(...(isRequest ? ([was, is] as const) : ([is, was] as const))) : []) {
        reportDifference(report, each, { isRequest, operation, before, after })
      }
      for (const { id, pointer, previousPointer, detail } of members.compare(was, is)) {
        report(id, {
          pointer: pointer ?? after.pointer,
          previousPointer: previousPointer ?? before.pointer,
          operation,
          detail,
        })
      }
    } catch (cause) {
      const places = { pointer: after.pointer, previousPointer: before.pointer, operation }
      report(`${direction}.undecided`, { ...places, detail: `the schema cannot be compiled: ${String(cause)}` })
    }
  }
}

/** Every text is a value of an unlimited string, in particular that of a number. */
function takesEveryText(prover: Prover, one: SchemaSet, other: SchemaSet): boolean {
  const isScalar = [one, other].every(
    (set) => !prover.facts(set).types.has('array') && !prover.facts(set).types.has('object'),
  )
  return (isScalar || one.parts.length === 0) && prover.isWithin(prover.sets.of(prover.own({ type: 'string' })), other)
}

function reportDifference(
  report: Report,
  { kind, detail, inner, outer, witness }: Difference,
  { isRequest, operation, before, after }: { isRequest: boolean; operation: string; before: Placed; after: Placed },
): void {
  const rule = (isRequest ? REQUEST_RULES : RESPONSE_RULES)[kind]
  const [pointer, previousPointer] = isRequest ? [outer, inner] : [inner, outer]
  const at = { pointer: pointer || after.pointer, previousPointer: previousPointer || before.pointer, operation }
  if (witness !== undefined) report(rule, { ...at, detail })
  else report(isRequest ? 'request.undecided' : 'response.undecided', { ...at, detail: detail || kind })
}

/** Compiles the validator of the gateway when it is first needed. */
function compileWith(components: Fields): (schema: unknown) => (value: unknown) => boolean {
  let compiler: ReturnType<typeof createSchemaCompiler> | null = null
  return (schema) => {
    compiler ??= createSchemaCompiler({ components: { schemas: components } })
    const check = compiler.compile(schema)
    return (value) => check(value) === null
  }
}
