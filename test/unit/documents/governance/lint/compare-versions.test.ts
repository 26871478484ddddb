import { describe, expect, it } from 'vitest'
import { compareVersions } from '../../../../../src/documents/governance/lint/compare-versions.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'

const BEFORE = `openapi: 3.1.0
info: { title: Things, version: 1.0.0 }
servers: [{ url: https://things.example }]
paths:
  /things:
    get:
      operationId: listThings
      parameters:
        - name: limit
          in: query
          schema: { type: integer, maximum: 9 }
      responses: { '200': { description: ok } }
    delete:
      operationId: deleteThings
      responses: { '204': { description: ok } }
`
const AFTER = BEFORE.replace('openapi', '# The next version.\nopenapi')
  .replace('maximum: 9', 'maximum: 8')
  .replace(/ {4}delete:[^]*$/, '')

const compare = async (before: string, after: string) =>
  compareVersions(Buffer.from(before), Buffer.from(after), await readSpecification(Buffer.from(after)))

describe('A change', () => {
  it('has its line and column in both documents', async () => {
    const { changes, serverUrl } = await compare(BEFORE, AFTER)
    expect(serverUrl).toBe('https://things.example')
    expect(changes).toMatchObject([
      { id: 'operation.removed', line: 6, column: 3, previousLine: 13, previousColumn: 5 },
      { id: 'request.bound', line: 12, column: 36, previousLine: 11, previousColumn: 36 },
    ])
  })

  it('has no earlier place if it is an addition', async () => {
    const { changes } = await compare(AFTER, BEFORE)
    expect(changes).toMatchObject([
      { id: 'operation.added', line: 13, column: 5, previousPointer: null, previousLine: null, previousColumn: null },
    ])
  })

  it('says that the earlier document cannot be read', async () => {
    const { changes } = await compare('{', AFTER)
    expect(changes).toMatchObject([{ id: 'previous.invalid', level: 'warning', previousLine: null }])
  })
})
