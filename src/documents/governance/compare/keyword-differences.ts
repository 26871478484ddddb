/** Explains one keyword of the outer schema that could not be proved: reports a difference, or goes on to members and items. */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { toCanonicalText } from '../../../foundation/json/canonical-value.ts'
import { textsOf } from '../containment/facts.ts'
import { listedIn } from '../containment/keyword-rules.ts'
import { additionalNames, having, isTolerated } from '../containment/member-rules.ts'
import { itemSchemas, mentionedNames, prefixLength } from '../containment/members.ts'
import type { Prover } from '../containment/proof.ts'
import type { SchemaSet } from '../containment/schema-set.ts'
import { kindOf, shown, type Difference } from './difference.ts'
import { strangeTypes, type Leaf, type Onward, type Step } from './walk-step.ts'

const VALUES_MAX = 20
/** Values that are tried, because others of the schema may exclude them. */
const TRIED_MAX = 200

/** The walk as the explanation of a keyword uses it. */
export interface Walk {
  readonly prover: Prover
  /** How often the walk met a pair that it is inside of. */
  readonly cycles: number
  findAt(inner: SchemaSet, outer: SchemaSet, onward: Onward): readonly Difference[]
  /** Goes on to a member or an item. */
  into(at: Step, member: string | number): Onward
  /** The difference at this place. */
  leaf(at: Step, leaf: Leaf): Difference
}

/** Keywords other than those of alternatives. */
export function explainKeyword(walk: Walk, at: Step, part: Fields, keyword: string): readonly Difference[] {
  const outer = walk.prover.sets.of(walk.prover.alone(part, keyword))
  switch (keyword) {
    case 'type':
      return [walk.leaf(at, { kind: 'type', detail: strangeTypes(walk.prover, at.inner, part), part, outer, keyword })]
    case 'enum':
    case 'const':
      return explainValues(walk, at, part, keyword, outer)
    case 'required':
      return explainRequired(walk, at, part)
    case 'properties':
      return explainProperties(walk, at, part)
    case 'additionalProperties':
      return explainAdditional(walk, at, part, outer)
    case 'dependentSchemas':
      return explainDependent(walk, at, part)
    case 'items':
    case 'prefixItems':
      return explainItems(walk, at, part)
    default: {
      const kind = kindOf(keyword)
      const value = kind === 'other' ? '' : ` ${shown(part[keyword])}`
      return [walk.leaf(at, { kind, detail: `${keyword}${value}`, part, outer, keyword })]
    }
  }
}

function explainValues(walk: Walk, at: Step, part: Fields, keyword: string, outer: SchemaSet): readonly Difference[] {
  const { values } = walk.prover.facts(at.inner)
  const listed = listedIn(part, keyword)
  const refused = (values ?? [])
    .filter((value) => !listed.has(toCanonicalText(value)))
    .slice(0, TRIED_MAX)
    .filter((value) => walk.prover.accepts(at.inner, value))
  if (refused.length === 0) return [walk.leaf(at, { kind: 'value', detail: 'any other value', part, outer, keyword })]
  return refused
    .slice(0, VALUES_MAX)
    .map((value) => walk.leaf(at, { kind: 'value', detail: shown(value), part, outer, keyword, values: [value] }))
}

function explainRequired(walk: Walk, at: Step, part: Fields): readonly Difference[] {
  const { required } = walk.prover.facts(at.inner)
  return textsOf(part['required'])
    .filter((name) => !required.has(name))
    .map((name) => {
      const outer = walk.prover.sets.of(walk.prover.own({ required: [name] }))
      // A new required property of a request was never there.
      const isGone =
        walk.prover.tolerance === 'declared by inner' &&
        Object.hasOwn(fieldsOf(part['properties']), name) &&
        !mentionedNames(walk.prover.sets, at.inner).has(name)
      const kind = isGone ? 'property' : 'required'
      return walk.leaf(at, { kind, detail: name, part, outer, keyword: 'required' })
    })
}

function explainProperties(walk: Walk, at: Step, part: Fields): readonly Difference[] {
  const names = mentionedNames(walk.prover.sets, at.inner)
  return Object.entries(fieldsOf(part['properties'])).flatMap(([name, schema]) => {
    if (walk.prover.isSpent) return []
    const [inner, outer] = [walk.prover.property(at.inner, name), walk.prover.sets.of(schema)]
    if (isTolerated(walk.prover, at.inner, name, schema) || walk.prover.isMemberWithin(inner, outer)) return []
    if (inner.parts.length > 0 && (names.has(name) || walk.prover.tolerance === 'declared by outer')) {
      return walk.findAt(inner, outer, walk.into(at, name))
    }
    const alone = walk.prover.sets.of(walk.prover.own({ properties: { [name]: schema } }))
    return [walk.leaf(at, { kind: 'property', detail: name, part, outer: alone, keyword: 'properties', member: name })]
  })
}

function explainAdditional(walk: Walk, at: Step, part: Fields, alone: SchemaSet): readonly Difference[] {
  const keyword = 'additionalProperties'
  const cyclesBefore = walk.cycles
  const wanted = walk.prover.sets.of(part[keyword])
  const found: Difference[] = []
  const isNewTolerated = walk.prover.tolerance === 'declared by inner' && wanted.isFalse
  for (const name of isNewTolerated ? [] : additionalNames(at.inner, part)) {
    if (walk.prover.isSpent) return found
    const inner = walk.prover.property(at.inner, name)
    if (walk.prover.isMemberWithin(inner, wanted)) continue
    const refused = walk.prover.sets.of(walk.prover.own({ properties: { [name]: false } }))
    if (wanted.isFalse) {
      found.push(walk.leaf(at, { kind: 'property', detail: name, part, outer: refused, keyword, gone: name }))
    } else found.push(...walk.findAt(inner, wanted, walk.into(at, name)))
  }
  const others = walk.prover.undeclared(at.inner)
  if (walk.prover.isMemberWithin(others, wanted)) {
    if (found.length > 0 || walk.cycles > cyclesBefore) return found
    return [walk.leaf(at, { kind: 'other', detail: 'patternProperties', part, outer: alone, keyword })]
  }
  if (wanted.isFalse || others.parts.length === 0) {
    return [...found, walk.leaf(at, { kind: 'closed', part, outer: alone, keyword })]
  }
  return [...found, ...walk.findAt(others, wanted, walk.into(at, 'zz'))]
}

function explainItems(walk: Walk, at: Step, part: Fields): readonly Difference[] {
  const count = Math.max(prefixLength(at.inner), listOf(part['prefixItems']).length)
  const found: Difference[] = []
  for (let index = 0; index <= count; index++) {
    const [inner, outer] = [walk.prover.item(at.inner, index), walk.prover.sets.of(...itemSchemas(part, index))]
    if (!walk.prover.isMemberWithin(inner, outer)) {
      found.push(...walk.findAt(inner, outer, walk.into(at, index)))
    }
  }
  return found
}

function explainDependent(walk: Walk, at: Step, part: Fields): readonly Difference[] {
  const { sets } = walk.prover
  return Object.entries(fieldsOf(part['dependentSchemas'])).flatMap(([name, schema]) => {
    const [inner, outer] = [having(walk.prover, at.inner, name), sets.of(schema)]
    if (walk.prover.isWithin(inner, outer)) return []
    return walk.findAt(inner, outer, { root: at.root, depth: at.depth + 1 })
  })
}
