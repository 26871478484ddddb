/**
 * Lints randomly damaged documents: every document gets a score or a finding, and nothing throws.
 *
 * `DOCUMENTS` is their number (300 in the suite, 100,000 in `npm run fuzz`); `SEED` repeats a run.
 */

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { compareVersions } from '../../src/governance/lint/compare-versions.ts'
import { readSpecification } from '../../src/governance/specification.ts'
import { lint } from '../../src/governance/lint/lint.ts'
import { createRandom, type Random } from '../random.ts'

const DOCUMENTS = Number(process.env['DOCUMENTS'] ?? 300)
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const SAMPLE = readFileSync(new URL('../../src/sample/payments.openapi.yaml', import.meta.url))
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
    if (random.below(3) === 0) delete parent[key]
    else if (random.below(4) === 0) parent[`${key}~/ü`] = structuredClone(parent)
    else parent[key] = value
  }
  return copy
}

function damageBytes(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes)
  for (let changes = random.below(6); changes >= 0; changes--) copy[random.below(copy.length)] = random.below(256)
  return random.below(3) === 0 ? copy.subarray(0, random.below(copy.length)) : copy
}

it(`every one of ${DOCUMENTS} damaged documents can be linted`, { timeout: DOCUMENTS * 100 + 60_000 }, async () => {
  const random = createRandom(SEED)
  for (let round = 0; round < DOCUMENTS; round++) {
    const bytes = round % 10 === 0 ? damageBytes(SAMPLE, random) : Buffer.from(JSON.stringify(damage(SMALL, random)))
    const label = `seed ${SEED}, document ${round}: ${bytes.toString().slice(0, 300)}`
    const { score, findings, isServable, coverage } = await lint(bytes).catch((cause: unknown) =>
      expect.fail(`${label}\n${String(cause)}`),
    )
    expect(score, label).toBeGreaterThanOrEqual(0)
    expect(score, label).toBeLessThanOrEqual(100)
    expect(isServable || findings.length > 0, label).toBe(true)
    expect(coverage?.failed ?? [], label).toEqual([])
    if (isServable) await compareVersions(Buffer.from(JSON.stringify(SMALL)), bytes, await readSpecification(bytes))
  }
})
