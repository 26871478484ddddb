/** The rule for documents that were converted from an earlier format. */

import { CONVERTED_FROM } from '../convert/convert-swagger.ts'
import type { Rule } from './rule.ts'

export const ORIGIN_RULES: readonly Rule[] = [
  {
    id: 'converted-document',
    category: 'design',
    severity: 'warning',
    message: 'The document is Swagger 2.0 and was converted to OpenAPI 3.0.',
    advice: 'Publish the document as OpenAPI 3.0 or later, so that it says itself what the gateway enforces.',
    find: ({ fields }) => (fields[CONVERTED_FROM] === undefined ? [] : ['/openapi']),
  },
]
