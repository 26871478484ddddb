/**
 * Two versions of the schemas of requests or of responses.
 *
 * A request schema may only widen and a response schema may only narrow: the prover decides, and the walk names the places that
 * break it. Pairs of schemas are collected first, because the validator is compiled over the components of both documents.
 */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'
import { createSchemaStore, type SchemaStore } from '../../../boundary/schema/schema-store.ts'
import { createCandidates } from '../containment/candidates.ts'
import type { Prover } from '../containment/proof.ts'
import { createProver } from '../containment/prover.ts'
import type { WorkBudget } from '../containment/work-budget.ts'
import type { SchemaSet } from '../containment/schema-set.ts'
import type { Specification } from '../specification.ts'
import type { RuleId } from './change-rules.ts'
import type { Report } from './change.ts'
import { compileWith } from './counted-compiler.ts'
import { createMemberComparison } from './member-comparison.ts'
import type { Difference, DifferenceKind } from './difference.ts'
import type { Sameness } from './sameness.ts'
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
  /** Records that an operation is not compared, because the work is used up. */
  giveUp(operation: string): void
  finish(): void
}

type Side = Pick<Specification, 'document' | 'dialect'>

export interface ComparedSides {
  readonly budget: WorkBudget
  readonly previous: Side
  readonly next: Side
  readonly sameness: Sameness
}

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

/** Work of converting a schema, and of looking up a pair. */
const WORK = { schema: 4, pair: 1 } as const

/** Patterns of one schema: each is compared with each declared name. */
const PATTERNS_MAX = 200

/** Ends the conversion of schemas that refer to very many others. */
class WorkSpent extends Error {}

interface Pair {
  readonly before: Placed
  readonly after: Placed
  readonly operations: Set<string>
  /** The value of a parameter is a text before it is a number or a boolean. */
  readonly kind: 'text' | 'json'
  readonly one: unknown
  readonly other: unknown
}

export function createSchemaComparison(sides: ComparedSides, direction: Direction, report: Report): SchemaComparison {
  const { sameness, budget } = sides
  const places = new WeakMap<object, string>()
  const open = (side: Side, namePrefix: string) => openStore(side, { direction, namePrefix, places, budget })
  const stores = { before: open(sides.previous, 'before.'), after: open(sides.next, 'after.') }
  /** By place and kind, because operations often share parameters and bodies. */
  const pairs = new Map<string, Pair>()
  const late = new Set<string>()

  return {
    add(one, other, operation, kind = 'json') {
      budget.spend(WORK.pair)
      const key = `${kind} ${one.pointer} ${other.pointer}`
      const known = pairs.get(key)
      if (known !== undefined) known.operations.add(operation)
      else if (!sameness.isSame(one.schema, other.schema)) {
        const pair = budget.isSpent ? null : toPair(stores, one, other, kind)
        pair?.operations.add(operation)
        if (pair === null) late.add(operation)
        else pairs.set(key, pair)
      }
    },
    giveUp: (operation) => void late.add(operation),
    finish() {
      const [was, is] = [stores.before, stores.after].map((store) => fieldsOf(store.components()['schemas']))
      const components = mergeComponents(was ?? {}, is ?? {}, sameness)
      const compare = createPairComparison({ sides, direction, components, report, places })
      for (const pair of pairs.values()) {
        if (!budget.isSpent) compare(pair)
        if (budget.isSpent) for (const operation of pair.operations) late.add(operation)
      }
      if (late.size === 0) return
      const at = { pointer: '/paths', previousPointer: '/paths', operations: late }
      report(`${direction}.undecided`, { ...at, detail: 'the documents are too large to compare completely' })
    },
  }
}

interface StoreOptions {
  readonly direction: Direction
  readonly namePrefix: string
  /** Receives the place of each converted schema. */
  readonly places: WeakMap<object, string>
  readonly budget: WorkBudget
}

function openStore({ document, dialect }: Side, { direction, namePrefix, places, budget }: StoreOptions): SchemaStore {
  const locate = (schema: object, pointer: string): void => {
    budget.spend(WORK.schema)
    const patterns = Object.keys(fieldsOf(fieldsOf(schema)['patternProperties'])).length
    if (budget.isSpent || patterns > PATTERNS_MAX) throw new WorkSpent()
    places.set(schema, pointer)
  }
  // Faults keep a document from being served; they are reported by its checks.
  return createSchemaStore({ document, dialect, direction, faults: [], namePrefix, locate })
}

/** Returns null if the work is used up. */
function toPair(
  { before, after }: { readonly before: SchemaStore; readonly after: SchemaStore },
  one: Placed,
  other: Placed,
  kind: Pair['kind'],
): Pair | null {
  try {
    const [was, is] = [
      before.convert(one.schema ?? true, one.pointer),
      after.convert(other.schema ?? true, other.pointer),
    ]
    return { before: one, after: other, operations: new Set(), kind, one: was, other: is }
  } catch (cause) {
    if (cause instanceof WorkSpent) return null
    throw cause
  }
}

/** Components of both documents. Those that are the same become one schema, which then needs no comparison. */
function mergeComponents(before: Fields, after: Fields, sameness: Sameness): Fields {
  const same = Object.keys(after).flatMap((name): readonly (readonly [string, unknown])[] => {
    const own = name.slice('after.'.length)
    const schema = before[`before.${own}`]
    // The store numbers the targets that are no components.
    if (schema === undefined || own.startsWith('$')) return []
    return sameness.isSameTarget(`#/components/schemas/${own}`) ? [[name, schema]] : []
  })
  return { ...before, ...after, ...Object.fromEntries(same) }
}

interface PairOptions {
  readonly sides: ComparedSides
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
    compile: compileWith(components, sides.budget),
    budget: sides.budget,
    tolerance: isRequest ? 'declared by outer' : 'declared by inner',
  })
  const candidates = createCandidates(prover)
  const differences = createDifferences({ prover, candidates, locate })
  const members = createMemberComparison({
    prover,
    budget: sides.budget,
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

  return ({ before, after, operations, kind, one, other }) => {
    const [was, is] = [prover.sets.of(one), prover.sets.of(other)]
    prover.reset()
    try {
      const [inner, outer] = isRequest ? [was, is] : [is, was]
      const differs = kind === 'json' || !takesEveryText(prover, inner, outer)
      for (const each of differs ? find(inner, outer) : []) {
        reportDifference(report, each, { isRequest, operations, before, after })
      }
      for (const { id, pointer, previousPointer, detail } of members.compare(was, is)) {
        report(id, {
          pointer: pointer ?? after.pointer,
          previousPointer: previousPointer ?? before.pointer,
          operations,
          detail,
        })
      }
    } catch (cause) {
      const places = { pointer: after.pointer, previousPointer: before.pointer, operations }
      const reason = cause instanceof RangeError ? 'it is nested too deep' : String(cause)
      report(`${direction}.undecided`, { ...places, detail: `the schema cannot be compiled: ${reason}` })
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
  { isRequest, operations, before, after }: Pick<Pair, 'operations' | 'before' | 'after'> & { isRequest: boolean },
): void {
  const rule = (isRequest ? REQUEST_RULES : RESPONSE_RULES)[kind]
  const [pointer, previousPointer] = isRequest ? [outer, inner] : [inner, outer]
  const at = { pointer: pointer || after.pointer, previousPointer: previousPointer || before.pointer, operations }
  if (witness !== undefined) report(rule, { ...at, detail })
  else report(isRequest ? 'request.undecided' : 'response.undecided', { ...at, detail: detail || kind })
}
