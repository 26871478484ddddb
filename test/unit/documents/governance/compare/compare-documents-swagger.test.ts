import { expect, it } from 'vitest'
import { SWAGGER } from '../../../../fixtures/swagger-document.ts'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'

const read = (text: string) => readSpecification(Buffer.from(text))

it('changes of Swagger 2.0 documents have pointers into them', async () => {
  const previous = await read(SWAGGER)
  const next = await read(SWAGGER.replace('in: formData, type: string', 'in: formData, type: string, required: true'))
  expect(compareDocuments(previous, previous)).toEqual([])
  expect(compareDocuments(previous, next)).toMatchObject([
    {
      level: 'warning',
      id: 'request.unvalidated',
      pointer: expect.stringContaining('/paths/~1counts~1{id}/post/parameters/') as string,
      previousPointer: expect.stringContaining('/paths/~1counts~1{id}/post/parameters/') as string,
    },
  ])
})

it('a Swagger 2.0 document and its conversion are equal', async () => {
  const previous = await read(SWAGGER)
  const next = await read(JSON.stringify(previous.document))
  expect(compareDocuments(previous, next)).toEqual([])
})
