import { describe, expect, it } from 'vitest'
import { lintServable, readToLint } from '../../../../../src/documents/governance/lint/lint.ts'
import { readRealDocument, REAL_DOCUMENTS } from '../../../../fixtures/real-documents.ts'

async function openReal(name: string) {
  const bytes = readRealDocument(REAL_DOCUMENTS.find((document) => document.name === name)!)
  const read = await readToLint(bytes)
  if ('faults' in read) throw new Error('the document must be servable')
  return (folded?: number, rules: Readonly<Record<string, unknown>> = {}) =>
    lintServable(bytes, read, { rules }, folded === undefined ? {} : { budget: { expanded: 0, folded } })
}

describe('A document that is checked in part', () => {
  it.each(['airbyte.local/config', 'slack.com'])(
    'never scores higher than if it is checked as a whole: %s',
    { timeout: 300_000 },
    async (name) => {
      const lintWith = await openReal(name)
      const whole = await lintWith()
      expect(whole.coverage?.operations).toBe(whole.coverage?.of)
      for (const folded of [0, 2_000, 5_000, 15_000]) {
        const part = await lintWith(folded)
        expect(part.score).toBeLessThanOrEqual(whole.score)
        if (part.coverage!.operations === part.coverage!.of) continue
        expect(part.costs.find(({ rule }) => rule === 'rules-in-part')?.cost).toBeGreaterThan(0)
        const silenced = await lintWith(folded, { 'rules-in-part': 'off' })
        expect(silenced.score).toBeLessThanOrEqual(whole.score)
      }
    },
  )
})
