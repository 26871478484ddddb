import { describe, expect, it } from 'vitest'
import { excerptOf } from '../../../../../src/documents/governance/spectral/excerpt.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'

describe('The excerpt of a document for Spectral', () => {
  it('keeps a section of components named __proto__ as data, and changes no prototype', async () => {
    const operation = (id: string, reference: string): string =>
      `{"get": {"operationId": "${id}", "responses": {"200": {"description": "ok", "content": ` +
      `{"application/json": {"schema": {"$ref": "${reference}"}}}}}}}`
    const text =
      '{"openapi": "3.1.0", "info": {"title": "T", "version": "1.0.0"}, "paths": {' +
      `"/a": ${operation('a', '#/components/__proto__/polluted')}, "/b": ${operation('b', '#/components/schemas/Big')}}, ` +
      `"components": {"__proto__": {"polluted": {"type": "string"}}, "schemas": {"Big": {"enum": [${'1,'.repeat(999)}1]}}}}`
    const { document, operations } = await readSpecification(Buffer.from(text))
    const excerpt = excerptOf(document, operations, 500)
    expect(excerpt.operations).toBe(1)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
    expect(JSON.stringify(excerpt.document)).toContain('"components":{"__proto__":{"polluted":{"type":"string"}}')
  })
})
