/** Schema of the transformation of an API, in requests and answers. */

import { headerName, HEADER_VALUE } from './backend-input.ts'
import { nullable, object } from './schemas.ts'

const FIELDS_MAX = 32
const fields = {
  type: 'array',
  maxItems: FIELDS_MAX,
  items: object({
    name: headerName,
    value: { type: 'string', minLength: 1, maxLength: 1_024, pattern: HEADER_VALUE },
  }),
} as const
const headers = object(
  {
    remove: { type: 'array', maxItems: FIELDS_MAX, items: headerName },
    set: { ...fields, description: 'Replaces all headers of each name.' },
    add: { ...fields, description: 'Adds headers to those of the same name.' },
  },
  [],
)
const path = { type: 'string', minLength: 1, maxLength: 1_024, pattern: '^/[\\x21-\\x7e]*$' } as const

export const transform = {
  ...nullable(
    object(
      {
        request: headers,
        response: headers,
        basePath: object({ from: path, to: path }),
      },
      [],
    ),
  ),
  description:
    'Changes of headers in requests and in responses of the backend: `remove`, then `set`, then `add`. The beginning `from` of the ' +
    "document's paths becomes `to` at the backend.",
} as const
