/**
 * Proves that every value of one schema is a value of another.
 *
 * The proof is sound and incomplete: `true` is certain, `false` means that no proof was found. The later schema is taken apart into
 * its keywords, and each is proved from the facts of the earlier one. If the facts do not suffice, the earlier schema is split into
 * cases: the branches of its `anyOf`, `oneOf` and `if`, its types, and the values of a member that tells cases apart. Lists of
 * values are decided by the validator. A recursive pair that is met again is assumed to hold, which is an induction over the depth
 * of a value; results that rest on such an assumption are not stored until it is proved.
 */

import { toCanonicalText } from '../../../foundation/json/canonical-value.ts'
import { listOf, type Fields } from '../../../foundation/json/fields.ts'
import { casesOf } from './cases.ts'
import { COMBINATION_RULES } from './combination-rules.ts'
import { isShownEmpty, VALUES_MAX } from './emptiness.ts'
import { factsOf, type Facts } from './facts.ts'
import { KEYWORD_RULES, listedIn } from './keyword-rules.ts'
import { ITEM_RULES, PROPERTY_RULES } from './member-rules.ts'
import { itemSchemas, propertySchemas, undeclaredSchemas } from './members.ts'
import type { KeywordRule, Prover, Tolerance } from './proof.ts'
import { createSchemaSets, type SchemaSet, type SchemaSets } from './schema-set.ts'
import { unevaluatedItem, unevaluatedProperty, unevaluatedRest } from './unevaluated-members.ts'
import { createValueCheck, type ValueCheck } from './value-check.ts'
import { createWorkBudget, type WorkBudget } from './work-budget.ts'

export interface ProverOptions {
  /** Schemas that `#/components/schemas/<name>` refers to, of both documents. */
  readonly components: Fields
  /** The validator of the gateway. Throws if it cannot compile the schema. */
  readonly compile: (schema: unknown) => (value: unknown) => boolean
  readonly tolerance?: Tolerance
  /** The work of all proofs together. Default: no limit. */
  readonly budget?: WorkBudget
}

/** Steps of one proof. */
const STEPS_MAX = 4_000
/** Work that one step of a proof, one part of a schema, and the compilation and the call of a validator count for. */
const WORK = { step: 4, part: 0.5, value: 0.02, compile: 500, check: 2, listed: 0.002 } as const
/** Steps of one proof that the compilation of a schema counts for. */
const COMPILE_STEPS = 20
const DEPTH_MAX = 40
const SPLITS_MAX = 4
const RULES = new Map<string, KeywordRule>(
  Object.entries({ ...KEYWORD_RULES, ...ITEM_RULES, ...PROPERTY_RULES, ...COMBINATION_RULES }),
)

export function createProver(options: ProverOptions): Prover {
  return new SchemaProver(options)
}

class SchemaProver implements Prover {
  readonly sets: SchemaSets
  readonly #tolerance: Tolerance
  readonly #check: ValueCheck
  readonly #budget: WorkBudget
  readonly #facts = new Map<string, Facts>()
  readonly #empty = new Map<string, boolean>()
  readonly #proved = new Map<string, boolean>()
  /** Pairs under proof. */
  readonly #open = new Map<string, { readonly depth: number; readonly level: number }>()
  /** Schemas of the proof itself. */
  readonly #own = new Map<string, Fields>()
  /** Members and items that the proof has gone into: the level of the value that it is at. */
  #level = 0
  /** The least depth of an assumption that was used since it was last reset. */
  #assumed = Infinity
  #steps = STEPS_MAX
  #depth = 0
  /** Greater than 0 while the proof must be exact. */
  #exact = 0

  constructor({ components, compile, tolerance = 'none', budget = createWorkBudget(Infinity) }: ProverOptions) {
    this.sets = createSchemaSets(components, (parts) => budget.spend(parts * WORK.part))
    this.#budget = budget
    this.#check = createValueCheck({
      sets: this.sets,
      compile,
      onCompile: () => {
        this.#steps -= COMPILE_STEPS
        budget.spend(WORK.compile)
      },
      // The validator goes through a list of values one by one.
      onCheck: (listed) => budget.spend(WORK.check + listed * WORK.listed),
    })
    this.#tolerance = tolerance
  }

  get tolerance(): Tolerance {
    return this.#exact > 0 ? 'none' : this.#tolerance
  }

  get isSpent(): boolean {
    return this.#budget.isSpent
  }

  reset(): void {
    this.#steps = STEPS_MAX
  }

  facts(set: SchemaSet): Facts {
    let facts = this.#facts.get(set.key)
    if (facts === undefined) {
      for (const part of set.parts) this.#budget.spend((1 + listOf(part['enum']).length) * WORK.value)
      this.#facts.set(set.key, (facts = factsOf(set)))
    }
    return facts
  }

  accepts(set: SchemaSet, value: unknown): boolean {
    return this.#check(set, value)
  }

  property(set: SchemaSet, name: string): SchemaSet {
    const schemas = (part: Fields) => [...propertySchemas(part, name), ...unevaluatedProperty(this.sets, part, name)]
    return this.sets.of(...set.parts.flatMap(schemas))
  }

  item(set: SchemaSet, index: number): SchemaSet {
    const schemas = (part: Fields) => [...itemSchemas(part, index), ...unevaluatedItem(this.sets, part, index)]
    return this.sets.of(...set.parts.flatMap(schemas))
  }

  undeclared(set: SchemaSet, matching: readonly string[] = []): SchemaSet {
    const rest = set.parts.flatMap((part) => unevaluatedRest(this.sets, set, part, matching))
    return this.sets.of(...set.parts.flatMap((part) => undeclaredSchemas(part, matching)), ...rest)
  }

  own(schema: Fields): Fields {
    return this.#remember(toCanonicalText(schema), () => schema)
  }

  complement(schema: unknown): Fields {
    const isObject = typeof schema === 'object' && schema !== null
    return this.#remember(`not ${isObject ? this.sets.idOf(schema) : String(schema)}`, () => ({ not: schema }))
  }

  isEmpty(set: SchemaSet): boolean {
    if (set.isFalse) return true
    const known = this.#empty.get(set.key)
    if (known !== undefined) return known
    if (this.#isUsedUp()) return false
    // A schema that requires itself is not shown to be empty.
    this.#empty.set(set.key, false)
    const assumedBefore = this.#assumed
    this.#assumed = Infinity
    this.#depth++
    this.#exact++
    const isEmpty = isShownEmpty(this, set)
    this.#exact--
    this.#depth--
    if (isEmpty && this.#assumed < Infinity) this.#empty.delete(set.key)
    else this.#empty.set(set.key, isEmpty)
    this.#assumed = isEmpty ? Math.min(assumedBefore, this.#assumed) : assumedBefore
    return isEmpty
  }

  isWithin(inner: SchemaSet, outer: SchemaSet): boolean {
    if (outer.parts.every((part) => inner.parts.includes(part)) && !outer.isFalse) return true
    const key = `${this.tolerance === 'none' ? '' : '~'}${inner.key}|${outer.key}`
    const known = this.#proved.get(key)
    if (known !== undefined) return known
    const open = this.#open.get(key)
    if (open !== undefined) {
      // At the same level the schema refers to itself for the same value: nothing is smaller, so nothing follows.
      if (open.level === this.#level) return false
      this.#assumed = Math.min(this.#assumed, open.depth)
      return true
    }
    if (this.#isUsedUp()) return false
    const depth = this.#open.size
    const assumedBefore = this.#assumed
    this.#assumed = Infinity
    this.#open.set(key, { depth, level: this.#level })
    this.#depth++
    const holds = this.#prove(inner, outer)
    this.#depth--
    this.#open.delete(key)
    const restsOnOpen = this.#assumed < depth
    // A proof that ended for want of steps may be found later.
    if (holds ? !restsOnOpen : this.#steps >= 0) this.#proved.set(key, holds)
    this.#assumed = holds && restsOnOpen ? Math.min(assumedBefore, this.#assumed) : assumedBefore
    return holds
  }

  isMemberWithin(inner: SchemaSet, outer: SchemaSet, isExact = false): boolean {
    this.#level++
    if (isExact) this.#exact++
    const holds = this.isWithin(inner, outer)
    if (isExact) this.#exact--
    this.#level--
    return holds
  }

  isExactlyWithin(inner: SchemaSet, outer: SchemaSet): boolean {
    this.#exact++
    const holds = this.isWithin(inner, outer)
    this.#exact--
    return holds
  }

  isEqual(one: SchemaSet, other: SchemaSet): boolean {
    return this.isExactlyWithin(one, other) && this.isExactlyWithin(other, one)
  }

  satisfies(inner: SchemaSet, part: Fields, keyword: string): boolean {
    if (this.isEmpty(inner) || this.#includes(inner, part)) return true
    if (this.#isFinite(inner)) return this.#holdsForValues(inner, part, keyword)
    return this.#proveKeyword(inner, part, keyword, SPLITS_MAX)
  }

  alone(part: Fields, keyword: string): Fields {
    return this.#remember(`keyword ${this.sets.idOf(part)} ${keyword}`, () =>
      keyword.startsWith('unevaluated') ? part : pick(part, WITH[keyword] ?? [keyword]),
    )
  }

  #remember(key: string, make: () => Fields): Fields {
    let known = this.#own.get(key)
    if (known === undefined) this.#own.set(key, (known = make()))
    return known
  }

  #isUsedUp(): boolean {
    this.#budget.spend(WORK.step)
    return --this.#steps < 0 || this.#depth > DEPTH_MAX || this.#budget.isSpent
  }

  #includes(inner: SchemaSet, part: Fields): boolean {
    return inner.parts.some((each) => each === part || this.sets.isSame(each, part))
  }

  #prove(inner: SchemaSet, outer: SchemaSet): boolean {
    if (this.isEmpty(inner)) return true
    if (outer.isFalse) return false
    const isFinite = this.#isFinite(inner)
    return outer.parts.every(
      (part) =>
        this.#includes(inner, part) ||
        Object.keys(part).every((keyword) =>
          isFinite ? this.#holdsForValues(inner, part, keyword) : this.#proveKeyword(inner, part, keyword, SPLITS_MAX),
        ),
    )
  }

  #isFinite(set: SchemaSet): boolean {
    const { values } = this.facts(set)
    return values !== null && values.length <= VALUES_MAX
  }

  /** Decided by the validator, value by value. */
  #holdsForValues(inner: SchemaSet, part: Fields, keyword: string): boolean {
    const values = this.facts(inner).values ?? []
    const isList = keyword === 'enum' || keyword === 'const'
    const listed = isList ? listedIn(part, keyword) : null
    const outer = this.sets.of(isList ? true : this.alone(part, keyword))
    const holds = (value: unknown): boolean => listed?.has(toCanonicalText(value)) ?? this.accepts(outer, value)
    return values.every((value) => holds(value) || !this.accepts(inner, value))
  }

  #proveKeyword(inner: SchemaSet, part: Fields, keyword: string, splits: number): boolean {
    const follows = RULES.get(keyword)
    // A keyword without a rule is read with another one, or constrains nothing.
    if (follows === undefined || follows(this, inner, part, keyword)) return true
    if (splits === 0 || !mayDependOnCase(inner, keyword) || this.#isUsedUp()) return false
    for (const cases of casesOf(this, inner)) {
      const holds = cases.every(
        (each) =>
          this.isEmpty(each) ||
          (this.#isFinite(each)
            ? this.#holdsForValues(each, part, keyword)
            : this.#proveKeyword(each, part, keyword, splits - 1)),
      )
      if (holds) return true
      if (this.#steps < 0) return false
    }
    return false
  }
}

const COMBINATIONS = ['anyOf', 'oneOf', 'if', 'not'] as const

/** Whether a proof by cases can show more: without a combination, the rules decide on each type and member by itself. */
function mayDependOnCase(inner: SchemaSet, keyword: string): boolean {
  return COMBINATIONS.some((each) => each === keyword || inner.parts.some((part) => part[each] !== undefined))
}

const WITH: Readonly<Record<string, readonly string[]>> = {
  additionalProperties: ['additionalProperties', 'properties', 'patternProperties'],
  items: ['items', 'prefixItems'],
  prefixItems: ['items', 'prefixItems'],
  contains: ['contains', 'minContains', 'maxContains'],
  if: ['if', 'then', 'else'],
}

function pick(part: Fields, keywords: readonly string[]): Fields {
  return Object.fromEntries(keywords.filter((each) => part[each] !== undefined).map((each) => [each, part[each]]))
}
