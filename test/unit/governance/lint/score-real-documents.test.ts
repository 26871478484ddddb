import { parse } from 'yaml'
import { describe, expect, it } from 'vitest'
import { readRealDocument, REAL_DOCUMENTS } from '../../../fixtures/real-documents.ts'

describe('the score of real documents', () => {
  it('has at least 30 documents to be measured on', () => {
    expect(REAL_DOCUMENTS.length).toBeGreaterThanOrEqual(30)
    expect(new Set(REAL_DOCUMENTS.map(({ name }) => name)).size).toBe(REAL_DOCUMENTS.length)
    for (const document of REAL_DOCUMENTS.filter(({ path }) => path.endsWith('.yaml'))) {
      expect(parse(readRealDocument(document).toString()), document.name).toHaveProperty('openapi')
    }
  })
})
