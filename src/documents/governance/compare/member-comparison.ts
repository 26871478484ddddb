/**
 * Compares what two versions of a schema declare: properties, defaults and discriminators.
 *
 * These changes are reported although the accepted values may be the same.
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { toCanonicalText } from '../../../foundation/json/canonical-value.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import {
  declaredNames,
  declaredPatterns,
  itemSchemas,
  mentionedNames,
  mentionedParts,
  prefixLength,
  propertySchemas,
} from '../containment/members.ts'
import type { Prover } from '../containment/proof.ts'
import type { SchemaSet } from '../containment/schema-set.ts'
import type { WorkBudget } from '../containment/work-budget.ts'
import { nearestBranch, pairBranches } from './alternatives.ts'
import type { RuleId } from './change-rules.ts'
import { withoutNull } from './nullable.ts'

export interface Declared {
  readonly id: RuleId
  readonly pointer: string | null
  readonly previousPointer: string | null
  readonly detail: string
}

export interface MemberOptions {
  readonly prover: Prover
  readonly budget: WorkBudget
  readonly direction: 'request' | 'response'
  readonly locate: (part: Fields) => string | null
  /** The schema as the document declares it. */
  readonly before: (part: Fields) => Fields
  readonly after: (part: Fields) => Fields
}

const ADDED = { request: 'request.property.added', response: 'response.property.added' } as const
const DEPTH_MAX = 40
/** Work of a pair of schemas, each time that it is visited. */
const NODE_WORK = 5

export interface MemberComparison {
  compare(before: SchemaSet, after: SchemaSet): readonly Declared[]
}

export function createMemberComparison(options: MemberOptions): MemberComparison {
  return new MemberWalk(options)
}

type Parts = ReadonlySet<Fields>

/** A pair of schemas; each pair is compared once, however many others contain it. */
interface Node {
  readonly found: Declared[]
  readonly inner: Node[]
}

class MemberWalk implements MemberComparison {
  readonly #options: MemberOptions
  readonly #nodes = new Map<string, Node>()

  constructor(options: MemberOptions) {
    this.#options = options
  }

  compare(before: SchemaSet, after: SchemaSet): readonly Declared[] {
    const seen = new Set<Node>()
    const open = [this.#nodeOf(before, after, 0)]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (seen.has(node)) continue
      this.#options.budget.spend(NODE_WORK)
      seen.add(node)
      open.push(...node.inner)
    }
    return [...seen].flatMap(({ found }) => found)
  }

  #nodeOf(one: SchemaSet, other: SchemaSet, depth: number): Node {
    const { sets } = this.#options.prover
    const [before, after] = [withoutNull(sets, one), withoutNull(sets, other)]
    const key = `${before.key}|${after.key}`
    const known = this.#nodes.get(key)
    if (known !== undefined) return known
    const node: Node = { found: [], inner: [] }
    this.#nodes.set(key, node)
    const { prover, budget } = this.#options
    budget.spend(NODE_WORK)
    if (depth > DEPTH_MAX || before.key === after.key || budget.isSpent) return node
    this.#compareMeanings(node, before, after)
    this.#compareProperties(node, before, after, depth)
    const items = Math.max(prefixLength(before), prefixLength(after))
    for (let index = 0; index <= items; index++) {
      const isListed = [before, after].every(({ parts }) => parts.some((part) => itemSchemas(part, index).length > 0))
      if (isListed) node.inner.push(this.#nodeOf(prover.item(before, index), prover.item(after, index), depth + 1))
    }
    this.#compareRest(node, before, after, depth)
    this.#compareBranches(node, before, after, depth)
    return node
  }

  /** Members that both schemas describe without their names. */
  #compareRest(node: Node, before: SchemaSet, after: SchemaSet, depth: number): void {
    const { prover } = this.#options
    const has = ({ parts }: SchemaSet) => parts.some((part) => part['additionalProperties'] !== undefined)
    if (has(before) && has(after)) {
      node.inner.push(this.#nodeOf(prover.undeclared(before), prover.undeclared(after), depth + 1))
    }
    const patterns = declaredPatterns(after)
    for (const pattern of declaredPatterns(before)) {
      if (!patterns.has(pattern)) continue
      const [was, is] = [prover.undeclared(before, [pattern]), prover.undeclared(after, [pattern])]
      node.inner.push(this.#nodeOf(was, is, depth + 1))
    }
  }

  #compareBranches(node: Node, before: SchemaSet, after: SchemaSet, depth: number): void {
    const { sets } = this.#options.prover
    const known = new Set([...mentionedNames(sets, before), ...declaredNames(after)])
    const pairs: [SchemaSet, SchemaSet][] = []
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const [one, other] = [before, after].map(({ parts }) => parts.flatMap((part) => listOf(part[keyword])))
      for (const [was, is] of pairBranches(one ?? [], other ?? [])) pairs.push([sets.of(was), sets.of(is)])
      // A schema that became one of several, or that several became.
      if (one?.length === 0) for (const is of nearestBranch(sets, before, other ?? [])) pairs.push([before, is])
      if (other?.length === 0) for (const was of nearestBranch(sets, after, one ?? [])) pairs.push([was, after])
    }
    for (const keyword of ['then', 'else'] as const) {
      const [was, is] = [before, after].map(({ parts }) => sets.of(...parts.map((part) => part[keyword] ?? true)))
      if (was!.parts.length > 0 && is!.parts.length > 0) pairs.push([was!, is!])
    }
    for (const [earlier, later] of pairs) {
      if (later !== after) for (const name of mentionedNames(sets, later)) known.add(name)
      node.inner.push(this.#nodeOf(earlier, later, depth + 1))
    }
    const mentioned = [mentionedParts(sets, before), mentionedParts(sets, after)] as const
    if (mentioned[0].size > before.parts.length) this.#compareMentioned(node, mentioned, depth)
    // Names that only a condition or a new alternative declares.
    for (const part of mentioned[1]) {
      for (const name of Object.keys(fieldsOf(part['properties']))) {
        if (!known.has(name)) this.#add(node, ADDED[this.#options.direction], before, sets.of(part), name)
      }
    }
  }

  /** Members that conditions and alternatives declare. */
  #compareMentioned(node: Node, mentioned: readonly [Parts, Parts], depth: number): void {
    const { sets } = this.#options.prover
    const [was, is] = mentioned.map((parts) => declaredNames(sets.of(...parts)))
    for (const name of is ?? []) {
      if (this.#options.budget.isSpent) return
      if (was?.has(name) !== true) continue
      const [one, other] = mentioned.map((parts) => [...parts].flatMap((part) => propertySchemas(part, name)))
      node.inner.push(this.#nodeOf(sets.of(...(one ?? [])), sets.of(...(other ?? [])), depth + 1))
    }
  }

  #compareProperties(node: Node, before: SchemaSet, after: SchemaSet, depth: number): void {
    const { prover, direction } = this.#options
    const [was, is] = [declaredNames(before), declaredNames(after)]
    for (const name of was) {
      if (prover.isSpent) return
      const [one, other] = [prover.property(before, name), prover.property(after, name)]
      if (is.has(name)) {
        node.inner.push(this.#nodeOf(one, other, depth + 1))
        // Declared before by one part of a combination and refused by another: no value could have it.
        if (direction === 'response' && prover.isEmpty(one) && !prover.isEmpty(other))
          this.#add(node, 'response.property.added', before, after, name)
      } else if (direction === 'request') {
        const isElsewhere = mentionedNames(prover.sets, after).has(name)
        if (!isElsewhere && !prover.isEmpty(other)) this.#add(node, 'request.property.removed', before, after, name)
      } else if (prover.isWithin(other, one)) this.#add(node, 'response.property.undeclared', before, after, name)
    }
    const { required } = prover.facts(after)
    for (const name of is) {
      if (prover.isSpent) return
      if (was.has(name) || prover.isEmpty(prover.property(after, name))) continue
      if (direction === 'response') this.#add(node, 'response.property.added', before, after, name)
      else if (!required.has(name)) this.#add(node, 'request.property.added', before, after, name)
    }
  }

  #add({ found }: Node, id: RuleId, before: SchemaSet, after: SchemaSet, name: string): void {
    const inside = `properties/${escapePointer(name)}`
    const place = ({ parts }: SchemaSet): string | null => {
      const part = parts.find((each) => Object.hasOwn(fieldsOf(each['properties']), name))
      const at = part === undefined ? this.#placeOf(parts) : this.#options.locate(part)
      return at === null ? null : part === undefined ? at : `${at}/${inside}`
    }
    found.push({ id, pointer: place(after), previousPointer: place(before), detail: name })
  }

  #compareMeanings({ found }: Node, before: SchemaSet, after: SchemaSet): void {
    const { direction } = this.#options
    const was = before.parts.map(this.#options.before)
    const is = after.parts.map(this.#options.after)
    const at = { pointer: this.#placeOf(after.parts), previousPointer: this.#placeOf(before.parts) }
    const one = was.map((each) => each['default']).find((each) => each !== undefined)
    const other = is.map((each) => each['default']).find((each) => each !== undefined)
    if (direction === 'request' && textOf(one) !== textOf(other)) {
      found.push({ id: 'request.default', ...at, detail: '' })
    }
    const known = new Set(is.flatMap(extensibleValues))
    const removed = was.flatMap(extensibleValues).find((value) => !known.has(value))
    if (removed !== undefined) found.push({ id: 'enum.extensible.removed', ...at, detail: removed })
    const change = discriminatorChange(was, is)
    if (change !== null) found.push({ id: 'discriminator.changed', ...at, detail: change })
  }

  #placeOf(parts: readonly Fields[]): string | null {
    return parts.map(this.#options.locate).find((place) => place !== null) ?? null
  }
}

/** Empty for no value. */
function textOf(value: unknown): string {
  return value === undefined ? '' : toCanonicalText(value)
}

function extensibleValues(schema: Fields): readonly string[] {
  return listOf(schema['x-extensible-enum']).map(toCanonicalText)
}

/** Returns what changed for a caller that relies on the discriminator; null: nothing. */
function discriminatorChange(before: readonly Fields[], after: readonly Fields[]): string | null {
  const [one, other] = [before, after].map((parts) =>
    fieldsOf(parts.map((each) => each['discriminator']).find((each) => each !== undefined)),
  )
  const [was, is] = [one?.['propertyName'], other?.['propertyName']]
  if (typeof was !== 'string') return null
  if (was !== is) return `${was} to ${typeof is === 'string' ? is : 'nothing'}`
  const mapping = fieldsOf(other?.['mapping'])
  const changed = Object.entries(fieldsOf(one?.['mapping'])).filter(([name, target]) => mapping[name] !== target)
  return changed.length === 0 ? null : `mapping of ${changed.map(([name]) => name).join(', ')}`
}
