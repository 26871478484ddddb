/** The values that the fields of a call begin with: those of the examples, where the document requires or shows one. */

import type { ApiDocument, ApiOperation } from './document.ts'
import { exampleOf, toText } from './schema-example.ts'
import type { TryValues } from './try-call.ts'

export function initialValues({ parameters, body }: ApiOperation, resolve: ApiDocument['resolve']): TryValues {
  const [content] = body?.contents ?? []
  const given = parameters
    .filter(({ isRequired, example }) => isRequired || example !== undefined)
    .map(({ place, name, example, schema }) => [`${place} ${name}`, toText(example ?? exampleOf(schema, resolve))])
  return {
    parameters: Object.fromEntries(given) as Readonly<Record<string, string>>,
    mediaType: content?.mediaType ?? 'application/json',
    body: content === undefined ? '' : toText(content.example ?? exampleOf(content.schema, resolve)),
  }
}
