import { describe, expect, it } from 'vitest'
import { lintServable, type LintResult } from '../../../../../src/documents/governance/lint/lint.ts'
import { readDocument } from '../../../../../src/documents/governance/specification.ts'
import { readRealDocument, REAL_DOCUMENTS } from '../../../../fixtures/real-documents.ts'

/** Larger documents take seconds each; the table in the documentation has them all. */
const BYTES_MAX = 900_000
const TIMEOUT_MS = 300_000

/** Also lints what the gateway cannot serve, because its faults are not what the score measures. */
async function lintReal(document: (typeof REAL_DOCUMENTS)[number]): Promise<LintResult | null> {
  const bytes = readRealDocument(document)
  if (bytes.length > BYTES_MAX) return null
  const { specification } = readDocument(bytes)
  return lintServable(bytes, specification, { rules: {} }, { findingsMax: 0 })
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const [meanA, meanB] = [mean(a), mean(b)]
  const product = (x: readonly number[], meanX: number, y: readonly number[], meanY: number): number =>
    x.reduce((sum, value, at) => sum + (value - meanX) * (y[at]! - meanY), 0)
  return product(a, meanA, b, meanB) / Math.sqrt(product(a, meanA, a, meanA) * product(b, meanB, b, meanB))
}

describe('the score of real documents', () => {
  it('depends on the density of findings and not on the number of operations', { timeout: TIMEOUT_MS }, async () => {
    const results: LintResult[] = []
    for (const document of REAL_DOCUMENTS) {
      const result = await lintReal(document)
      if (result !== null) results.push(result)
    }
    expect(results.length).toBeGreaterThanOrEqual(30)
    const scores = results.map(({ score }) => score)
    const operations = results.map(({ coverage }) => coverage!.of)
    const findings = results.map(({ omitted }, at) => Math.log(omitted / operations[at]!))

    expect(results.filter(({ coverage }) => coverage!.operations < coverage!.of)).toEqual([])
    expect(Math.abs(correlation(operations.map(Math.log), scores))).toBeLessThan(0.2)
    expect(correlation(findings, scores)).toBeLessThan(-0.35)
  })
})
