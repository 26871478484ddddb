/**
 * Compares the gateway with the JSON Schema Test Suite. Every difference is listed with its reason.
 *
 * The npm package of the suite ends at draft 4, on which OpenAPI 3.0 rests. Draft 2020-12 (OpenAPI 3.1) is covered by
 * cases written from the text of the specification, and by the suite itself if Debian's package of it is installed
 * (`libtest-json-schema-acceptance-perl` 1.019), or unpacked where `JSON_SCHEMA_TEST_SUITE` says, as CI does.
 */

import { existsSync, globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createReferenceValidator } from '../reference-validator.ts'
import { DRAFT_2020_12 } from './listed-differences-2020-12.ts'
import { DRAFT_4, SPECIFICATION } from './listed-differences.ts'
import { findDifferences, type Differences, type ReasonedDifferences } from './run-suite.ts'
import { APPLICATORS } from './specification-applicators.ts'
import { REFERENCES } from './specification-references.ts'
import { UNEVALUATED } from './specification-unevaluated.ts'
import { VALIDATION } from './specification-validation.ts'
import type { SuiteGroup } from './suite-group.ts'

const PACKAGE = dirname(createRequire(import.meta.url).resolve('json-schema-test-suite/package.json'))
const INSTALLED =
  process.env['JSON_SCHEMA_TEST_SUITE'] ??
  '/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests/draft2020-12'

function readSuite(folder: string): SuiteGroup[] {
  return globSync('**/*.json', { cwd: folder })
    .sort()
    .flatMap((file) => {
      const groups = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Omit<SuiteGroup, 'file'>[]
      return groups.map((group) => ({ ...group, file }))
    })
}

function merge(listed: readonly ReasonedDifferences[]): Differences {
  return Object.fromEntries(listed.flatMap(({ differences }) => Object.entries(differences)))
}

const CASES = [...REFERENCES, ...APPLICATORS, ...UNEVALUATED, ...VALIDATION]

describe('The gateway agrees with JSON Schema, except for the listed differences,', () => {
  it('on the cases written from the text of 2020-12', { timeout: 120_000 }, async () => {
    expect(new Set(CASES.map(({ description }) => description)).size).toBe(CASES.length)
    expect(await findDifferences(CASES, '3.1.0')).toEqual(merge(SPECIFICATION))
  })

  it('on draft 4 of the JSON Schema Test Suite, with schemas of OpenAPI 3.0', { timeout: 120_000 }, async () => {
    const groups = readSuite(join(PACKAGE, 'tests/draft4'))
    expect(groups.length).toBe(89)
    expect(await findDifferences(groups, '3.0.3')).toEqual(merge(DRAFT_4))
  })

  it.skipIf(!existsSync(INSTALLED))(
    'on draft 2020-12 of the JSON Schema Test Suite, if it is installed',
    { timeout: 240_000 },
    async () => {
      expect(await findDifferences(readSuite(INSTALLED), '3.1.0')).toEqual(merge(DRAFT_2020_12))
    },
  )
})

describe('The reference validator of the fuzz test', () => {
  it('agrees with the cases written from the text of the specification', () => {
    for (const { description, schema, tests } of CASES) {
      const text = JSON.stringify(schema)
      // References and formats are reduced to what the fuzz test generates.
      if (/"\$ref"|"\$dynamicRef"|"format"|"multipleOf":0/.test(text)) continue
      const accepts = createReferenceValidator({})
      for (const { data, valid } of tests)
        expect([description, data, accepts(schema, JSON.parse(JSON.stringify(data)))]).toEqual([
          description,
          data,
          valid,
        ])
    }
  })
})
