import { expect, it } from 'vitest'
import { lint } from '../../../../../src/documents/governance/lint/lint.ts'

it('applies the rules of OWASP to a document with an extension that is null', async () => {
  const operation = { security: [{ key: [] }], responses: { 200: { description: 'ok' } } }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Orders', version: '1.0.0' },
    paths: { 'x-notes': null, '/orders': { get: operation }, '/admin/orders': { get: operation } },
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
  }
  const ruleset = { extends: [['spectral:owasp', 'all']], rules: {} } as const
  const { coverage, findings } = await lint(Buffer.from(JSON.stringify(document)), ruleset)
  expect(coverage?.failed).toEqual([])
  expect(findings.map(({ rule }) => rule)).toContain('owasp:api5:2023-admin-security-unique')
})
