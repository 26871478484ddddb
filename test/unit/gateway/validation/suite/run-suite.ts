/**
 * Runs groups of the JSON Schema Test Suite against the gateway's own path: each schema becomes the body of an
 * operation, which is read, compiled at activation and validated as in a gateway thread.
 */

import { Problem } from '../../../../../src/foundation/domain/problem.ts'
import { openTestValidator } from '../test-validator.ts'
import type { SuiteGroup } from './suite-group.ts'

/** Differences between the gateway and the suite, by `file › group`. */
export type Differences = Readonly<Record<string, Difference>>

/** The whole group, because its schema is refused at activation, or the tests with another verdict. */
export type Difference = 'refused' | readonly string[]

export interface ReasonedDifferences {
  readonly reason: string
  readonly differences: Differences
}

const SCHEMA = '#/components/schemas/Case'
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
])

export async function findDifferences(groups: readonly SuiteGroup[], openapi: string): Promise<Differences> {
  const differences: Record<string, Difference> = {}
  for (const group of groups) {
    const difference = await judgeGroup(group, openapi)
    if (difference !== null) differences[`${group.file} › ${group.description}`] = difference
  }
  return differences
}

async function judgeGroup({ schema, tests }: SuiteGroup, openapi: string): Promise<Difference | null> {
  let validator: Awaited<ReturnType<typeof openTestValidator>>
  try {
    validator = await openTestValidator({
      openapi,
      operation: { requestBody: { required: true, content: { 'application/json': { schema: { $ref: SCHEMA } } } } },
      components: { schemas: { Case: moveReferences(schema) } },
    })
  } catch (cause) {
    // Any other error is a fault of the gateway.
    if (cause instanceof Problem && cause.code === 'specification_invalid' && (cause.errors ?? []).length > 0)
      return 'refused'
    throw cause
  }
  const differing = tests.filter(({ data, valid }) => {
    const verdict = validator.send('/a', { body: JSON.stringify(data) })
    return (verdict === 'ok' || verdict === 'stream') !== valid
  })
  return differing.length === 0 ? null : differing.map(({ description }) => description)
}

/** Rewrites references to the root of the schema to its place in the document. */
function moveReferences(schema: unknown, isNamed = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => moveReferences(item))
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (isNamed) return [key, moveReferences(value)]
      if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string')
        return [key, value === '#' || value.startsWith('#/') ? SCHEMA + value.slice(1) : value]
      return [key, DATA.has(key) ? value : moveReferences(value, NAMED.has(key))]
    }),
  )
}
