/**
 * Chains of random edits of a schema, and what the comparison and the gateway's validators say about each.
 *
 * Each edit is compared with the schema before it as a request and as a response: two pairs. A validator is compiled once for both,
 * unless a member is `readOnly` or `writeOnly`. The values of an edit have a random sequence of their own, so that the seed of a
 * chain makes the same pairs whatever the verdicts.
 */

import { createReport, type Change } from '../../../../../src/documents/governance/compare/change.ts'
import { createSameness } from '../../../../../src/documents/governance/compare/sameness.ts'
import {
  createSchemaComparison,
  type Direction,
} from '../../../../../src/documents/governance/compare/schema-comparison.ts'
import { createWorkBudget } from '../../../../../src/documents/governance/containment/work-budget.ts'
import { fieldsOf } from '../../../../../src/foundation/json/fields.ts'
import { findEndlessSchemas } from '../../../../../src/boundary/schema/endless-schemas.ts'
import { createSchemaCompiler } from '../../../../../src/boundary/schema/schema-compiler.ts'
import { createSchemaStore } from '../../../../../src/boundary/schema/schema-store.ts'
import { createRandom } from '../../../../random.ts'
import { DocumentChange } from './document-change.ts'
import { randomDocument, type RandomDocument } from './random-schemas.ts'
import { realDocument } from './real-schemas.ts'
import { edit } from './schema-edits.ts'
import { valueNear } from './values-near.ts'

export const EDITS = 8
const ATTEMPTS_MAX = 5
const DIRECTIONS = ['request', 'response'] as const

export type Kind = 'same' | 'breaking' | 'undecided' | 'tolerated'

export interface Verdict {
  /** The number of the edit in its chain. */
  readonly edit: number
  readonly direction: Direction
  readonly before: RandomDocument
  readonly after: RandomDocument
  readonly kind: Kind
  readonly changes: readonly Change[]
  /** A value that was accepted and is refused; null: none was found. */
  readonly witness: { readonly value: unknown } | null
}

export interface ChainOptions {
  readonly isReal: boolean
  /** Values for each pair, and for one that is reported as breaking. */
  readonly tries: number
  readonly confirmTries: number
}

type Accepts = (value: unknown) => boolean
type Validators = Readonly<Record<Direction, Accepts>>

export function* judgeChain(seed: number, options: ChainOptions): Iterable<Verdict> {
  const random = createRandom(seed)
  const base = options.isReal ? realDocument(random) : randomDocument(random)
  let before = { document: base, accepts: validatorsOf(base) }
  for (let index = 1; index <= EDITS && before.accepts !== null; index++) {
    const [document, accepts] = editOf(random, before.document)
    if (accepts === null) return
    const pair = { before: before.document, after: document }
    const values = { seed: seed * 100 + index, one: before.accepts, other: accepts }
    yield* judge(pair, values, options).map((verdict) => ({ ...verdict, ...pair, edit: index }))
    before = { document, accepts }
  }
}

/** An edit that the gateway can compile; without validators if several attempts failed. */
function editOf(
  random: ReturnType<typeof createRandom>,
  before: RandomDocument,
): readonly [document: RandomDocument, accepts: Validators | null] {
  let document = before
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    document = edit(random, before)
    if (JSON.stringify(document) === JSON.stringify(before)) continue
    const accepts = validatorsOf(document)
    if (accepts !== null) return [document, accepts]
  }
  return [document, null]
}

/** The validators of one document as the gateway compiles them; null if it cannot, or does not serve the document. */
function validatorsOf(document: RandomDocument): Validators | null {
  if (findEndlessSchemas(fieldsOf(document.components['schemas'])).length > 0) return null
  try {
    const request = validatorOf(document, 'request')
    const isDirected = /"(?:readOnly|writeOnly)"/.test(JSON.stringify(document))
    return { request, response: isDirected ? validatorOf(document, 'response') : request }
  } catch {
    return null
  }
}

function validatorOf({ components, schema, dialect }: RandomDocument, direction: Direction): Accepts {
  const document = { components, schema }
  const store = createSchemaStore({ document, dialect, direction, faults: [] })
  const taken = store.convert(schema, '/schema')
  const check = createSchemaCompiler({ components: store.components() }).compile(taken)
  return (value: unknown) => check(value) === null
}

interface Pair {
  readonly before: RandomDocument
  readonly after: RandomDocument
}

interface Values {
  readonly seed: number
  readonly one: Validators
  readonly other: Validators
}

/** One direction of a pair while its values are tried. */
interface Trial {
  readonly direction: Direction
  readonly inner: Accepts
  readonly outer: Accepts
  readonly changes: readonly Change[]
  readonly kind: Kind
  readonly tries: number
  witness: { readonly value: unknown } | null
}

function judge(
  { before, after }: Pair,
  { seed, one, other }: Values,
  { tries, confirmTries }: ChainOptions,
): readonly Pick<Trial, 'direction' | 'kind' | 'changes' | 'witness'>[] {
  const trials: readonly Trial[] = DIRECTIONS.map((direction) => {
    const changes = compare(before, after, direction)
    const kind = kindOf(changes)
    const validators = [one[direction], other[direction]] as const
    const [inner, outer] = direction === 'request' ? validators : validators.toReversed()
    const count = kind === 'breaking' ? Math.max(tries, confirmTries) : tries
    return { direction, inner: inner!, outer: outer!, changes, kind, tries: count, witness: null }
  })
  const random = createRandom(seed)
  const change = new DocumentChange(before, after)
  const most = Math.max(...trials.map((each) => each.tries))
  for (let count = 0; count < most; count++) {
    const open = trials.filter((each) => each.witness === null && count < each.tries)
    if (open.length === 0) break
    const value = valueNear(random, [before, after], change)
    for (const trial of open) if (isWitness(trial, value)) trial.witness = { value }
  }
  return trials
}

function isWitness({ inner, outer, kind, changes }: Trial, value: unknown): boolean {
  if (!inner(value) || outer(value)) return false
  if (kind !== 'tolerated') return true
  const added = new Set(changes.filter(isAddition).map(({ message }) => /\((.*)\)$/s.exec(message)?.[1] ?? ''))
  const rest = without(value, added)
  return inner(rest) && !outer(rest)
}

/** The value without the members that a tolerated change is about. */
function without(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((each) => without(each, names))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => !names.has(name))
  return Object.fromEntries(kept.map(([name, each]) => [name, without(each, names)]))
}

/** A newly declared property is compatible by agreement. */
function isAddition({ id }: Change): boolean {
  return id.endsWith('property.added')
}

function kindOf(changes: readonly Change[]): Kind {
  // A changed discriminator is breaking by agreement, whatever the values.
  const ids = changes.filter(({ level, id }) => level === 'breaking' && id !== 'discriminator.changed')
  if (ids.some(({ id }) => !id.endsWith('undecided'))) return 'breaking'
  if (changes.some(({ id }) => id.endsWith('undecided'))) return 'undecided'
  return changes.some(isAddition) ? 'tolerated' : 'same'
}

function compare(before: RandomDocument, after: RandomDocument, direction: Direction): readonly Change[] {
  const { report, changes } = createReport()
  const toSide = ({ components, schema, dialect }: RandomDocument) => ({ document: { components, schema }, dialect })
  const [previous, next] = [toSide(before), toSide(after)]
  const sameness = createSameness(previous.document, next.document)
  const sides = { previous, next, sameness, budget: createWorkBudget(Infinity) }
  const comparison = createSchemaComparison(sides, direction, report)
  const at = (document: RandomDocument) => ({ schema: document.schema, pointer: '/schema' })
  comparison.add(at(before), at(after), 'POST /')
  comparison.finish()
  return changes()
}
