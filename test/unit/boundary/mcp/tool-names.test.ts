import { describe, expect, it } from 'vitest'
import { toToolNames } from '../../../../src/boundary/mcp/tool-names.ts'
import { fieldsOf } from '../../../../src/foundation/json/fields.ts'
import { readOperations } from '../../../../src/documents/governance/operations.ts'
import { readRealDocument, REAL_DOCUMENTS } from '../../../fixtures/real-documents.ts'

describe('the names of tools', () => {
  it('are the ids of the operations, in safe characters', () => {
    expect(toToolNames(['listThings', 'get_/things/{id}', 'repos/list', '日本'])).toEqual([
      'listThings',
      'get_things_id',
      'repos_list',
      'operation',
    ])
  })

  it('are abbreviated with a hash if they are too long or not unique, and keep an exact id', () => {
    const names = toToolNames(['a/b', 'a b', 'a_b', 'x'.repeat(60)])
    expect(names[2]).toBe('a_b')
    expect(names[0]).toMatch(/^a_b_[0-9a-f]{8}$/)
    expect(names[3]).toMatch(/^x{39}_[0-9a-f]{8}$/)
    expect(new Set(names).size).toBe(4)
  })

  it('stay the same if other operations are added', () => {
    const long = `operation-${'y'.repeat(60)}`
    expect(toToolNames(['other', long, 'more'])[1]).toBe(toToolNames([long])[0])
  })

  it.each(['github', 'kubernetes.io', 'stripe.com', 'digitalocean.com'])('are valid and unique for %s', (name) => {
    const document: unknown = JSON.parse(
      readRealDocument(REAL_DOCUMENTS.find((each) => each.name === name)!).toString(),
    )
    const ids = readOperations(fieldsOf(document), []).map(({ operationId }) => operationId)
    const names = toToolNames(ids)
    expect(names.length).toBeGreaterThan(200)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((tool) => !/^[A-Za-z0-9_-]{1,48}$/.test(tool))).toEqual([])
  })
})
