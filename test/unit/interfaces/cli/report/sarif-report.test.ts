/** SARIF reports are valid by the schema of OASIS. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import type { Report } from '../../../../../src/interfaces/cli/report/report.ts'
import { toSarif } from '../../../../../src/interfaces/cli/report/sarif-report.ts'
import { finding, hostileReport, reportOf } from './hostile-report.ts'

const SCHEMA = '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json'

/** The schema is written in draft 4 and uses nothing that draft 7 reads in another way, besides its own name. */
function compileSchema() {
  const path = createRequire(import.meta.url).resolve(SCHEMA)
  const { $schema, id, ...schema } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  expect([$schema, id]).toEqual([expect.stringContaining('draft-04'), expect.stringContaining('sarif-2.1.0')])
  const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false })
  formats.default(ajv)
  return ajv.compile(schema)
}

const validate = compileSchema()
const faultsOf = (report: Report): unknown => (validate(JSON.parse(toSarif(report))) ? null : validate.errors)

describe('A SARIF report', () => {
  it('is valid by the schema of SARIF 2.1.0 for every outcome', () => {
    for (const kind of ['good', 'failing finding', 'low score', 'trouble'] as const) {
      expect(faultsOf(reportOf(kind)), kind).toBeNull()
    }
    expect(faultsOf(hostileReport)).toBeNull()
    expect(faultsOf({ command: 'lint', documents: [], troubles: [], notes: [] })).toBeNull()
  })

  it('is refused by the schema if a level is unknown, so the test can fail', () => {
    const wrong = JSON.parse(toSarif(reportOf('good')).replace('"level": "warning"', '"level": "fatal"')) as unknown
    expect(validate(wrong)).toBe(false)
  })

  it('names files by URI references, in git by their path', () => {
    const place = { line: 1, column: 1 }
    const files = ['a b/c#.yaml', '/srv/ä.yaml', 'git:origin/main:apis/a.yaml', 'stdin']
    const findings = files.map((file) => ({ ...finding, place: { file, ...place }, previousPlace: null }))
    const report = { ...reportOf('good'), documents: [{ file: 'x', score: null, findings, notes: [] }] }
    expect([...toSarif(report).matchAll(/"uri": "(.*)"/g)].map(([, uri]) => uri)).toEqual([
      'a%20b/c%23.yaml',
      'file:///srv/%C3%A4.yaml',
      'apis/a.yaml',
      'stdin',
    ])
  })

  it('suppresses ignored findings with their reason, and marks known ones as unchanged', () => {
    const { runs } = JSON.parse(toSarif(hostileReport)) as { runs: { results: object[] }[] }
    expect(runs[0]!.results.slice(3, 5)).toMatchObject([
      { level: 'note', suppressions: [{ kind: 'external', status: 'accepted' }] },
      { level: 'warning', baselineState: 'unchanged' },
    ])
  })
})
