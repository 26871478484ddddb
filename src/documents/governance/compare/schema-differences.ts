/**
 * Names the places at which one schema is not contained in another.
 *
 * The walk follows the keywords of the outer schema that could not be proved, into members, items and alternatives. At each place it
 * looks for a witness: a value that the inner schema as a whole accepts and the outer one refuses. A place without a witness is
 * undecided.
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { branchesOf } from '../containment/cases.ts'
import type { Candidates } from '../containment/candidates.ts'
import type { Prover } from '../containment/proof.ts'
import type { SchemaSet } from '../containment/schema-set.ts'
import { nearest, placeIn, type Difference, type Locate } from './difference.ts'
import { areMembersIndependent, embedIn, findWitness, inCase, type Leaf, type Onward, type Step } from './walk-step.ts'
import { findPartner } from './alternatives.ts'
import { explainKeyword, type Walk } from './keyword-differences.ts'

export interface DifferenceOptions {
  readonly prover: Prover
  readonly candidates: Candidates
  /** The place of a schema in its document; null for a schema of the proof. */
  readonly locate: Locate
}

export interface Differences {
  find(inner: SchemaSet, outer: SchemaSet): readonly Difference[]
}

const DEPTH_MAX = 40
const SPLITS_MAX = 2

export function createDifferences(options: DifferenceOptions): Differences {
  return new DifferenceWalk(options)
}

/** Stands for the differences of a pair that are being looked for. */
const OPEN: readonly Difference[] = []

class DifferenceWalk implements Differences {
  readonly #prover: Prover
  readonly #candidates: Candidates
  readonly #locate: DifferenceOptions['locate']
  readonly #known = new Map<string, readonly Difference[]>()
  /** How often the walk met a pair that it is inside of. */
  #cycles = 0

  readonly #walk: Walk

  constructor({ prover, candidates, locate }: DifferenceOptions) {
    this.#prover = prover
    this.#candidates = candidates
    this.#locate = locate
    const cycles = (): number => this.#cycles
    this.#walk = {
      prover,
      get cycles() {
        return cycles()
      },
      findAt: (inner, outer, onward) => this.#findAt(inner, outer, onward),
      into: (at, member) => this.#into(at, member),
      leaf: (at, leaf) => this.#leaf(at, leaf),
    }
  }

  find(inner: SchemaSet, outer: SchemaSet): readonly Difference[] {
    const found = this.#findAt(inner, outer, { root: null, depth: 0 })
    if (found.length > 0 || this.#prover.isSpent || this.#prover.isWithin(inner, outer)) return found
    // A schema that refers to itself for the same value leads back to where the difference was looked for.
    return [this.#unexplained(startOf(inner, outer, { root: null, depth: 0 }))]
  }

  #findAt(inner: SchemaSet, outer: SchemaSet, { root, depth }: Onward): readonly Difference[] {
    const key = `${inner.key}|${outer.key}`
    const before = this.#known.get(key)
    if (before === OPEN) this.#cycles++
    if (before !== undefined) return before
    // A pair that contains itself is reported where it is first met.
    this.#known.set(key, OPEN)
    this.#prover.reset()
    // The pair is reported as a whole if the work is used up.
    if (this.#prover.isSpent) return []
    const found = this.#prover.isWithin(inner, outer) ? [] : this.#explain(startOf(inner, outer, { root, depth }))
    this.#known.set(key, found)
    return found
  }

  #explain(at: Step): readonly Difference[] {
    const { inner, outer, depth } = at
    if (outer.isFalse || depth > DEPTH_MAX) return [this.#unexplained(at)]
    const found: Difference[] = []
    const cyclesBefore = this.#cycles
    let isWithin = true
    for (const part of outer.parts) {
      for (const keyword of Object.keys(part)) {
        this.#prover.reset()
        if (this.#prover.isSpent) return found
        if (this.#prover.satisfies(inner, part, keyword)) continue
        isWithin = false
        found.push(...this.#explainKeyword(at, part, keyword))
      }
    }
    // The keywords one by one have more steps than the pair had.
    if (isWithin || found.length > 0 || this.#cycles > cyclesBefore) return found
    return [this.#unexplained(at)]
  }

  #unexplained(at: Step): Difference {
    return this.#leaf(at, { kind: 'other', part: fieldsOf(at.outer.parts[0]), outer: at.outer })
  }

  #explainKeyword(at: Step, part: Fields, keyword: string): readonly Difference[] {
    if (keyword === 'anyOf' || keyword === 'oneOf') return this.#explainAlternatives(at, part, keyword)
    const cases = at.splits > 0 ? this.#failingCases(at.inner, part, keyword) : []
    if (cases.length > 0) {
      return cases.flatMap((inner) =>
        this.#explainKeyword({ ...inCase(at, inner), splits: at.splits - 1 }, part, keyword),
      )
    }
    return explainKeyword(this.#walk, at, part, keyword)
  }

  /** Branches of the inner schema that do not satisfy the keyword, if it has branches. */
  #failingCases(inner: SchemaSet, part: Fields, keyword: string): readonly SchemaSet[] {
    for (const each of inner.parts) {
      for (const cases of branchesOf(this.#prover, inner, each)) {
        const failing = cases.filter((one) => !this.#prover.isEmpty(one) && !this.#prover.satisfies(one, part, keyword))
        if (failing.length > 0) return failing
      }
    }
    return []
  }

  #explainAlternatives(at: Step, part: Fields, keyword: 'anyOf' | 'oneOf'): readonly Difference[] {
    const branches = listOf(part[keyword]).map((schema) => this.#prover.sets.of(schema))
    const alone = this.#prover.sets.of(this.#prover.alone(part, keyword))
    const split = at.inner.parts.flatMap((each) => [...branchesOf(this.#prover, at.inner, each)]).at(0)
    const cases = split ?? [at.inner]
    const failing = cases.filter((one) => !this.#prover.isEmpty(one) && !this.#prover.satisfies(one, part, keyword))
    const isSameCount = cases.length === branches.length
    const overlaps: Difference[] = []
    const found = failing.flatMap((inner) => {
      const here = inCase(at, inner)
      const cyclesBefore = this.#cycles
      const opposite = isSameCount ? (branches[cases.indexOf(inner)] ?? null) : null
      const partner = findPartner(this.#prover, inner, branches, opposite, this.#locate)
      const found = partner === null ? [] : this.#findAt(inner, partner, this.#onto(here, branches, partner))
      if (found.length > 0 || this.#cycles > cyclesBefore) return found
      const isWithinOne = branches.some((branch) => this.#prover.isWithin(inner, branch))
      const kind = isWithinOne || partner !== null ? 'other' : 'alternative'
      const leaf = this.#leaf(here, { kind, detail: keyword, part, outer: alone, keyword })
      if (isWithinOne) overlaps.push(leaf)
      return isWithinOne ? [] : [leaf]
    })
    // A changed branch may come to overlap with an unchanged one: the change of the branch is the cause.
    return found.length > 0 ? found : overlaps
  }

  /** Goes on to a branch of the outer schema. If no other branch accepts such a value, the branch alone decides. */
  #onto({ inner, root, depth }: Step, branches: readonly SchemaSet[], partner: SchemaSet): Onward {
    const { parts } = inner
    const decides = branches.every(
      (branch) => branch === partner || this.#prover.isEmpty(this.#prover.sets.of(...parts, ...branch.parts)),
    )
    return { root: decides && root.inner === inner ? null : root, depth: depth + 1 }
  }

  /** Goes on to a member or an item. If the members of a value do not depend on each other, the member alone decides. */
  #into(at: Step, member: string | number): Onward {
    const { root, inner, depth } = at
    const place = { member, locate: this.#locate }
    if (root.inner === inner && areMembersIndependent(this.#prover, this.#candidates, inner, place)) {
      return { root: null, depth: depth + 1 }
    }
    return { root: { ...root, embed: embedIn(this.#prover, this.#candidates, at, member) }, depth: depth + 1 }
  }

  #leaf({ root, inner }: Step, { kind, detail = '', outer, part, keyword = '', member = null, values, gone }: Leaf) {
    const witness = findWitness(this.#prover, { root, inner }, outer, values ?? this.#candidates.of(inner, outer))
    const near = nearest(this.#locate, inner.parts, part)
    return {
      kind,
      detail,
      inner: placeIn(this.#locate, near, gone === undefined ? keyword : 'properties', gone ?? member),
      outer: placeIn(this.#locate, [part], keyword, member),
      ...(witness !== undefined && { witness: { value: witness } }),
    } satisfies Difference
  }
}

function startOf(inner: SchemaSet, outer: SchemaSet, { root, depth }: Onward): Step {
  return { inner, outer, root: root ?? { inner, outer, embed: (value) => value }, depth, splits: SPLITS_MAX }
}
