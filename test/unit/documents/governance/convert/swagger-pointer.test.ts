import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createToSwagger, toSwaggerSpots } from '../../../../../src/documents/governance/convert/swagger-pointer.ts'
import type { Fields } from '../../../../../src/foundation/json/fields.ts'
import { SWAGGER } from '../../../../fixtures/swagger-document.ts'

const toSwagger = createToSwagger(parse(SWAGGER) as Fields)

describe('a pointer into a converted document', () => {
  it.each([
    ['/openapi', '/swagger'],
    ['/info/version', '/info/version'],
    ['/servers/0/url', '/host'],
    ['/components/schemas/Count/properties/kind', '/definitions/Count/properties/kind'],
    ['/components/securitySchemes/token', '/securityDefinitions/token'],
    ['/components/responses/Gone/content/text~1plain/schema/type', '/responses/Gone/schema/type'],
    ['/paths/~1counts~1{id}/put/operationId', '/paths/~1counts~1{id}/put/operationId'],
    ['/paths/~1counts~1{id}/parameters/0/schema/type', '/paths/~1counts~1{id}/parameters/0/type'],
    ['/paths/~1counts~1{id}/post/parameters/0/schema/items', '/paths/~1counts~1{id}/post/parameters/0/items'],
    [
      '/paths/~1counts~1{id}/put/requestBody/content/application~1json/schema',
      '/paths/~1counts~1{id}/parameters/1/schema',
    ],
    [
      '/paths/~1counts~1{id}/post/requestBody/content/multipart~1form-data/schema/properties/note/type',
      '/paths/~1counts~1{id}/post/parameters/2/type',
    ],
    [
      '/paths/~1counts~1{id}/put/responses/200/content/application~1json/schema/type',
      '/paths/~1counts~1{id}/put/responses/200/schema/type',
    ],
  ])('turns %s into %s', (pointer, original) => {
    expect(toSwagger(pointer)).toBe(original)
  })

  it('names a schema once that was copied for two media types', () => {
    const spots = ['json', 'xml'].map((type) => ({
      rule: 'example',
      pointer: `/paths/~1counts~1{id}/put/responses/200/content/application~1${type}/schema`,
    }))
    expect(toSwaggerSpots(parse(SWAGGER) as Fields, spots)).toEqual([
      { rule: 'example', pointer: '/paths/~1counts~1{id}/put/responses/200/schema' },
    ])
    expect(toSwaggerSpots(null, spots)).toEqual(spots)
  })
})
