/**
 * Converts Swagger 2.0 documents to OpenAPI 3.0 with a library, which reads neither files nor the network.
 *
 * The converted document carries a mark, so that it is still recognised after it was stored.
 */

import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { checkSize, ConversionFault } from './plain-copy.ts'
import { prepareSwagger } from './prepare-swagger.ts'

/** The member of a converted document that names its former format. */
export const CONVERTED_FROM = 'x-tollgate-converted-from'
const SWAGGER = 'Swagger 2.0'

/** Also recognises `swagger: 2.0` without quotes, which YAML reads as a number. */
export function isSwagger({ swagger, openapi }: Fields): boolean {
  return openapi === undefined && (swagger === '2.0' || swagger === 2)
}

/** Returns the document as OpenAPI 3.0, or a sentence why it cannot be converted. */
export function convertSwagger(original: Fields): { readonly document: Fields } | { readonly fault: string } {
  try {
    const { document, extensions } = prepareSwagger(original)
    const converted = fieldsOf(upgradeFromTwoToThree(document))
    dropEmptyRequired(converted)
    const paths = Object.entries(fieldsOf(converted['paths'])).map(([path, item]) => [
      path,
      { ...fieldsOf(item), ...extensions.get(path) },
    ])
    const marked = { ...converted, paths: Object.fromEntries(paths), [CONVERTED_FROM]: SWAGGER }
    checkSize(marked)
    return { document: marked }
  } catch (cause) {
    // The library throws for documents that it does not expect.
    const reason = cause instanceof ConversionFault ? cause.message : 'Correct it or publish it as OpenAPI 3.0.'
    return { fault: `The Swagger 2.0 document cannot be converted. ${reason}` }
  }
}

/** The library gives every form a list of required fields; OpenAPI 3.0 forbids an empty one. */
function dropEmptyRequired(document: Fields): void {
  const operations = Object.values(fieldsOf(document['paths'])).flatMap((item) => Object.values(fieldsOf(item)))
  const bodies = operations.map((operation) => fieldsOf(operation)['requestBody'])
  const shared = Object.values(fieldsOf(fieldsOf(document['components'])['requestBodies']))
  for (const media of [...bodies, ...shared].flatMap((body) => Object.values(fieldsOf(fieldsOf(body)['content'])))) {
    const { schema } = fieldsOf(media)
    const { required } = fieldsOf(schema)
    if (Array.isArray(required) && required.length === 0) Reflect.deleteProperty(schema as object, 'required')
  }
}
