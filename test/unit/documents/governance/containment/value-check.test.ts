import { expect, it } from 'vitest'
import { createSchemaSets } from '../../../../../src/documents/governance/containment/schema-set.ts'
import { createValueCheck } from '../../../../../src/documents/governance/containment/value-check.ts'
import { fieldsOf } from '../../../../../src/foundation/json/fields.ts'
import { createSchemaCompiler } from '../../../../../src/boundary/schema/schema-compiler.ts'
import { createSchemaStore } from '../../../../../src/boundary/schema/schema-store.ts'
import { createRandom } from '../../../../random.ts'
import { DocumentChange } from '../compare/document-change.ts'
import { randomDocument } from '../compare/random-schemas.ts'
import { edit } from '../compare/schema-edits.ts'
import { valueNear } from '../compare/values-near.ts'

const VALUES = 40

function checksOf(schema: unknown, components: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
  const compiler = createSchemaCompiler({ components })
  const compile = (each: unknown) => {
    const check = compiler.compile(each)
    return (value: unknown) => check(value) === null
  }
  let compiled = 0
  const sets = createSchemaSets(fieldsOf(components['schemas']), () => {})
  const check = createValueCheck({ sets, compile, onCompile: () => compiled++, onCheck: () => {} })
  return {
    followed: (value: unknown) => check(sets.of(schema), value),
    whole: compile(schema),
    compiled: () => compiled,
  }
}

it('A check that follows the schema of a value agrees with the validator of the whole schema', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = createRandom(seed)
    const before = randomDocument(random)
    const document = edit(random, before)
    const store = createSchemaStore({ document: { ...document }, dialect: '3.1', direction: 'request', faults: [] })
    const { followed, whole } = checksOf(store.convert(document.schema, '/schema'), store.components())
    const change = new DocumentChange(before, document)
    for (let count = 0; count < VALUES; count++) {
      const value = valueNear(random, [before, document], change)
      expect(followed(value), `seed ${seed}: ${JSON.stringify(value)}`).toBe(whole(value))
    }
  }
})

it('A check compiles only the schemas that the value leads to', () => {
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const names = Array.from({ length: 20 }, (_, index) => `S${index}`)
  const schemas = names.map((name, index) => {
    const next = names[index + 1]
    return [name, { type: 'object', properties: next === undefined ? {} : { next: reference(next) } }]
  })
  const { followed, compiled } = checksOf(reference('S0'), { schemas: Object.fromEntries(schemas) })
  expect(followed({ next: {} })).toBe(true)
  expect(followed({ next: 1 })).toBe(false)
  expect(compiled()).toBe(2)
})

it('A check ends for a value whose schema refers to itself', () => {
  const schemas = { A: { anyOf: [{ $ref: '#/components/schemas/A' }, { $ref: '#/components/schemas/A' }] } }
  expect(checksOf({ $ref: '#/components/schemas/A' }, { schemas }).followed('a')).toBe(false)
})
