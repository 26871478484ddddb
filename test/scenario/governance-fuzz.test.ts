/**
 * Lints randomly damaged documents: every document gets a score or a finding, nothing throws, and a document that can be served is
 * one that activates.
 *
 * `DOCUMENTS` is their number (300 in the suite, 100,000 in `npm run fuzz`); `SEED` repeats a run. In the suite a few small real
 * documents are damaged as well, in `npm run fuzz` all real documents, more than 10,000 times in total.
 */

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { compareVersions } from '../../src/documents/governance/lint/compare-versions.ts'
import { lint } from '../../src/documents/governance/lint/lint.ts'
import { judge } from '../../src/documents/governance/serving/verdict.ts'
import { parseDocumentBytes } from '../../src/documents/governance/parse-document.ts'
import { readJudged, readSpecification } from '../../src/documents/governance/specification.ts'
import { compileDocument } from '../../src/control/publishing/compiled-document.ts'
import { unpackDocument } from '../../src/boundary/plan/packed-plan.ts'
import { compileResponses } from '../../src/gateway/validation/declared-responses.ts'
import { compileValidators } from '../../src/gateway/validation/validate.ts'
import { createRouteTable } from '../../src/gateway/routing/route-table.ts'
import { Problem } from '../../src/foundation/domain/problem.ts'
import { KEYWORDS } from '../../src/foundation/json/schema-keywords.ts'
import type { RoutePlan } from '../../src/boundary/plan/route-plan.ts'
import { REAL_DOCUMENTS, readRealDocument } from '../fixtures/real-documents.ts'
import { createRandom, type Random } from '../random.ts'
import { readSeed } from '../random-seed.ts'

const DOCUMENTS = Number(process.env['DOCUMENTS'] ?? 300)
const SEED = readSeed(1)
const SAMPLE = readFileSync(new URL('../../src/app/sample/payments.openapi.yaml', import.meta.url))
const SMALL = {
  openapi: '3.1.0',
  info: { title: 'Small', version: '1.0.0' },
  security: [{ key: [] }],
  paths: {
    '/a/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } }],
      post: {
        operationId: 'a',
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } } },
        responses: { 200: { description: 'ok', headers: { ETag: { schema: { type: 'string' } } } } },
      },
    },
  },
  components: {
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'k' } },
    schemas: {
      Id: { type: 'string', pattern: '^a+$' },
      Node: {
        type: 'object',
        properties: { next: { $ref: '#/components/schemas/Node' } },
        allOf: [{ required: ['next'] }],
      },
    },
  },
}
/** With the schemas of OpenAPI 3.0, and other parts of a document. */
const OTHER = {
  ...SMALL,
  openapi: '3.0.3',
  servers: [{ url: 'https://small.example' }],
  paths: {
    ...SMALL.paths,
    '/b': {
      get: {
        security: [{ oauth: ['r'] }, { basic: [], key: [] }],
        parameters: [
          {
            name: 'q',
            in: 'query',
            schema: { type: 'array', items: { type: 'integer', minimum: 0, exclusiveMinimum: true } },
          },
          {
            name: 'f',
            in: 'query',
            style: 'deepObject',
            schema: { type: 'object', properties: { a: { nullable: true } } },
          },
        ],
        responses: { default: { description: 'ok', content: { 'application/json': { schema: { type: 'object' } } } } },
      },
    },
  },
  components: {
    ...SMALL.components,
    securitySchemes: {
      ...SMALL.components.securitySchemes,
      basic: { type: 'http', scheme: 'basic' },
      oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes: { r: '' } } } },
    },
  },
}
const UNSERVED = {
  tenant: 't',
  revision: 1,
  state: 'Active',
  backend: null,
  allowedScopes: [],
  memberOfProductIds: [],
} as const
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  'x'.repeat(5_000),
  [],
  {},
  { $ref: '#' },
  { $ref: '#/components/schemas/Node' },
  { $ref: '#/a/b' },
  [[[[]]]],
  '__proto__',
  'constructor',
  { type: 'strin' },
  { minLength: -1, pattern: '(?=a)' },
  { type: 'http', scheme: 'basic' },
  { type: 'mutualTLS' },
  { $ref: '#/info' },
  { $ref: '#/paths' },
  { unevaluatedProperties: false, anyOf: [{ required: ['a', 'a'] }] },
  { enum: [1, 1], const: { $ref: 'x' }, items: [{}] },
  '2020-08-27',
  7,
]
/** Members that are added, since a removal or a replacement cannot add a keyword. */
const KEYS = [
  ...KEYWORDS.keys(),
  '$ref',
  '$id',
  '$anchor',
  '$dynamicRef',
  'nullable',
  'security',
  'parameters',
  'requestBody',
]
const EXTENSIONS = ['x-tollgate-security', 'x-tollgate-name', 'x-tollgate-version', 'x-tollgate-max-body-bytes']
const ADDED: readonly unknown[] = [
  ...VALUES,
  'ignore',
  'string',
  ['a'],
  ['a', 'a'],
  { a: { type: 'string' } },
  [{}],
  1.5,
  '1.0.0',
]

/** Removes, replaces or duplicates random members. */
function damage(document: unknown, random: Random): unknown {
  const copy = structuredClone(document) as Record<string, unknown>
  for (let changes = 1 + random.below(4); changes > 0; changes--) {
    let parent: Record<string, unknown> = copy
    for (let depth = random.below(7); depth > 0; depth--) {
      const inner = Object.values(parent).filter((value) => typeof value === 'object' && value !== null)
      if (inner.length === 0) break
      parent = inner[random.below(inner.length)] as Record<string, unknown>
    }
    const keys = Object.keys(parent)
    const key = keys[random.below(Math.max(1, keys.length))] ?? 'x'
    const value = structuredClone(VALUES[random.below(VALUES.length)])
    const kind = random.below(10)
    if (kind === 9)
      parent[EXTENSIONS[random.below(EXTENSIONS.length)] ?? 'x'] = ['ignore', '1.0.0', 'a', 1][random.below(4)]
    else if (kind < 3)
      parent[KEYS[random.below(KEYS.length)] ?? 'x'] = structuredClone(ADDED[random.below(ADDED.length)])
    else if (kind < 5) delete parent[key]
    else if (kind < 6) parent[`${key}~/ü`] = structuredClone(parent)
    else parent[key] = value
  }
  return copy
}

/** A document that yields a name and a version, so that it can be deployed. */
function toDeployable(document: unknown): unknown {
  return { ...(document as object), 'x-tollgate-name': 'real', 'x-tollgate-version': '1.0.0' }
}

function damageBytes(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes)
  for (let changes = random.below(6); changes >= 0; changes--) copy[random.below(copy.length)] = random.below(256)
  return random.below(3) === 0 ? copy.subarray(0, random.below(copy.length)) : copy
}

/** Activates a document as a deployment and a gateway thread do. Returns the reason if it cannot be activated. */
async function refusalOf(bytes: Buffer): Promise<string | null> {
  try {
    const specification = await readSpecification(bytes)
    const plan: RoutePlan = {
      ...(await unpackDocument(compileDocument(specification))),
      ...UNSERVED,
      api: specification.technicalName,
    }
    createRouteTable(plan.operations)
    compileResponses(plan)
    await compileValidators(plan)
    return null
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    return JSON.stringify(cause.errors)
  }
}

it(`every one of ${DOCUMENTS} damaged documents can be linted`, { timeout: DOCUMENTS * 100 + 60_000 }, async () => {
  const random = createRandom(SEED)
  let activated = 0
  for (let round = 0; round < DOCUMENTS; round++) {
    const base = round % 3 === 0 ? OTHER : SMALL
    const bytes = round % 10 === 0 ? damageBytes(SAMPLE, random) : Buffer.from(JSON.stringify(damage(base, random)))
    const label = `seed ${SEED}, document ${round}: ${bytes.toString().slice(0, 3_000)}`
    const { score, findings, isServable, coverage } = await lint(bytes).catch((cause: unknown) =>
      expect.fail(`${label}\n${String(cause)}`),
    )
    expect(score, label).toBeGreaterThanOrEqual(0)
    expect(score, label).toBeLessThanOrEqual(100)
    expect(isServable || findings.length > 0, label).toBe(true)
    expect(coverage?.failed ?? [], label).toEqual([])
    const refusal = await refusalOf(bytes)
    const isDeployable = isServable && judge(bytes).obstacles.length === 0
    expect(isDeployable ? refusal : refusal !== null, `${label}\n${refusal}`).toBe(isDeployable ? null : true)
    if (isServable) await compareVersions(Buffer.from(JSON.stringify(SMALL)), bytes, readJudged(bytes))
    activated += Number(isDeployable)
  }
  expect(activated).toBeGreaterThan(DOCUMENTS / 50)
})

const IS_LONG = DOCUMENTS > 10_000
const ROUNDS = { suite: 4, least: 8, most: 700, bytes: 27_000_000 } as const

/** Small documents are damaged more often: each document takes about the same time, and all of them 10,000 rounds. */
function roundsOf(bytes: Buffer): number {
  if (!IS_LONG) return ROUNDS.suite
  return Math.min(ROUNDS.most, Math.max(ROUNDS.least, Math.round(ROUNDS.bytes / bytes.length)))
}

const DAMAGED = REAL_DOCUMENTS.map((real) => ({ ...real, bytes: readRealDocument(real) }))
  .filter(({ bytes }) => IS_LONG || bytes.length < 100_000)
  .map((real) => ({ ...real, rounds: roundsOf(real.bytes) }))

it.each(DAMAGED)(
  `the document of $name, damaged $rounds times, can be served if and only if it activates`,
  { timeout: IS_LONG ? 3_600_000 : 120_000 },
  async ({ bytes, rounds }) => {
    const random = createRandom(SEED)
    const parsed = parseDocumentBytes(bytes)
    const document = toDeployable('value' in parsed && parsed.value)
    for (let round = 0; round <= rounds; round++) {
      // The first one is not damaged.
      const damaged = round === 0 ? document : damage(document, random)
      const text = Buffer.from(JSON.stringify(damaged))
      const label = `seed ${SEED}, round ${round}`
      const verdict = verdictOf(text)
      const refusal = await refusalOf(text)
      expect(refusal === null, `${label}\n${JSON.stringify(verdict)}\n${refusal}`).toBe(verdict === null)
    }
  },
)

/** Returns the faults and obstacles of a document; null if there are none. */
function verdictOf(bytes: Buffer): unknown {
  try {
    const { faults, obstacles } = judge(bytes)
    return faults.length + obstacles.length === 0 ? null : { faults, obstacles }
  } catch (cause) {
    if (cause instanceof Problem) return cause.errors
    throw cause
  }
}
