/**
 * Compares the verdict on random pairs of schemas with what the gateway's validators accept.
 *
 * `PAIRS` and `SEED` make long runs; `TRIES` is the number of values for each pair, `CONFIRM_TRIES` for one reported as breaking.
 */

import { expect, it } from 'vitest'
import { createReport, type Change } from '../../../../src/governance/compare/change.ts'
import { createSameness } from '../../../../src/governance/compare/sameness.ts'
import { createSchemaComparison } from '../../../../src/governance/compare/schema-comparison.ts'
import { createWorkBudget } from '../../../../src/governance/containment/work-budget.ts'
import { createSchemaCompiler } from '../../../../src/schema/schema-compiler.ts'
import { createSchemaStore } from '../../../../src/schema/schema-store.ts'
import { createRandom } from '../../../random.ts'
import { randomDocument, type RandomDocument } from './random-schemas.ts'
import { edit } from './schema-edits.ts'
import { valueNear } from './values-near.ts'

const PAIRS = Number(process.env['PAIRS'] ?? 300)
const SEED = Number(process.env['SEED'] ?? 1)
const TRIES = Number(process.env['TRIES'] ?? 150)
/** Values for a pair that is reported as breaking: a report that none of them confirms counts as a false alarm. */
const CONFIRM_TRIES = Number(process.env['CONFIRM_TRIES'] ?? TRIES)

function compare(before: RandomDocument, after: RandomDocument, direction: 'request' | 'response'): readonly Change[] {
  const { report, changes } = createReport()
  const [previous, next] = [before, after].map(({ components, schema }) => ({
    document: { components, schema },
    dialect: '3.1' as const,
  }))
  const sameness = createSameness(previous!.document, next!.document)
  const comparison = createSchemaComparison(
    { previous: previous!, next: next!, sameness, budget: createWorkBudget(Infinity) },
    direction,
    report,
  )
  const at = (document: RandomDocument) => ({ schema: document.schema, pointer: '/schema' })
  comparison.add(at(before), at(after), 'POST /')
  comparison.finish()
  return changes()
}

/** The validator of one document as the gateway compiles it. */
function validatorOf({ components, schema }: RandomDocument, direction: 'request' | 'response') {
  const document = { components, schema }
  const store = createSchemaStore({ document, dialect: '3.1', direction, faults: [] })
  const taken = store.convert(schema, '/schema')
  const check = createSchemaCompiler({ components: store.components() }).compile(taken)
  return (value: unknown) => check(value) === null
}

interface Outcome {
  readonly kind: 'same' | 'breaking' | 'undecided' | 'tolerated' | 'invalid'
  readonly witness: { readonly value: unknown } | null
  readonly changes: readonly Change[]
}

function judge(seed: number): Outcome {
  const random = createRandom(seed)
  const before = randomDocument(random)
  const after = edit(random, before)
  const direction = random.below(2) === 0 ? 'request' : 'response'
  let accepts: readonly ((value: unknown) => boolean)[]
  try {
    accepts = [before, after].map((document) => validatorOf(document, direction))
  } catch {
    return { kind: 'invalid', witness: null, changes: [] }
  }
  const [inner, outer] = direction === 'request' ? accepts : accepts.toReversed()
  const changes = compare(before, after, direction)
  const ids = changes.filter(({ level }) => level === 'breaking').map(({ id }) => id)
  const isDecided = ids.some((id) => !id.endsWith('undecided'))
  const isUndecided = changes.some(({ id }) => id.endsWith('undecided'))
  const isTolerated = changes.some(({ id }) => id.endsWith('property.added'))
  const kind = isDecided ? 'breaking' : isUndecided ? 'undecided' : isTolerated ? 'tolerated' : 'same'
  for (let count = kind === 'breaking' ? CONFIRM_TRIES : TRIES; count > 0; count--) {
    const value = valueNear(random, [before, after])
    if (inner!(value) && !outer!(value)) return { kind, witness: { value }, changes }
  }
  return { kind, witness: null, changes }
}

it(
  `The comparison of ${PAIRS} random pairs of schemas reports every value that was accepted and is refused`,
  { timeout: 60_000 + PAIRS * 1_000 },
  () => {
    const counts = { same: 0, breaking: 0, undecided: 0, tolerated: 0, invalid: 0 }
    const unconfirmed = new Map<string, number>()
    const alarms: number[] = []
    const confirmed = { breaking: 0, undecided: 0 }
    for (let seed = SEED; seed < SEED + PAIRS; seed++) {
      const { kind, witness, changes } = judge(seed)
      counts[kind]++
      if (kind === 'same' && witness !== null) {
        expect.fail(`seed ${seed}: no change was reported for the value ${JSON.stringify(witness.value)}`)
      }
      if (kind === 'breaking' || kind === 'undecided') {
        if (witness === null && kind === 'breaking') alarms.push(seed)
        if (witness !== null) confirmed[kind]++
        else
          for (const id of new Set(changes.map((each) => each.id))) unconfirmed.set(id, (unconfirmed.get(id) ?? 0) + 1)
      }
    }
    if (process.env['PAIRS'] !== undefined)
      console.log({ counts, confirmed, alarms, unconfirmed: Object.fromEntries(unconfirmed) })
    // Each verdict occurs often enough to mean something.
    expect(Math.min(counts.same, confirmed.breaking)).toBeGreaterThan(PAIRS / 10)
  },
)
