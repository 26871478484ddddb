import { expect, it } from 'vitest'
import { isStoredAs } from '../../../../../src/interfaces/cli/gate/stored-text.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'

const SWAGGER = `swagger: "2.0"
info: {title: Pets, version: 1.0.0}
host: pets.example
schemes: [https]
paths:
  /pets:
    get: {operationId: listPets, responses: {200: {description: ok}}}
`

it('a Swagger 2.0 document is stored as the conversion that the service makes of it, and of no other document', async () => {
  const { document } = await readSpecification(Buffer.from(SWAGGER))
  const stored = JSON.stringify(document)
  expect(isStoredAs(stored, SWAGGER)).toBe(true)
  expect(isStoredAs(stored, stored)).toBe(true)
  expect(isStoredAs(stored, SWAGGER.replace('listPets', 'getPets'))).toBe(false)
  for (const other of ['', '{', 'openapi: 3.1.0\n', 'swagger: "2.0"\n']) expect(isStoredAs(stored, other)).toBe(false)
})

it('another document is stored as it is', () => {
  expect(isStoredAs('openapi: 3.1.0\n', 'openapi: 3.1.0\n')).toBe(true)
  expect(isStoredAs('openapi: 3.1.0\n', 'openapi:  3.1.0\n')).toBe(false)
})
