/** The text under which a service stores a document: Swagger 2.0 is converted when it is deployed. */

import { CONVERTED_FROM, convertSwagger, isSwagger } from '../../../documents/governance/convert/convert-swagger.ts'
import { parseDocumentBytes } from '../../../documents/governance/parse-document.ts'
import { fieldsOf } from '../../../foundation/json/fields.ts'

/** Whether a service of this version stores the document under that text. */
export function isStoredAs(stored: string, text: string): boolean {
  if (stored === text) return true
  return stored.includes(CONVERTED_FROM) && stored === converted(text)
}

/** Returns null if the text is no Swagger 2.0 document that can be converted. */
function converted(text: string): string | null {
  const parsed = parseDocumentBytes(Buffer.from(text))
  const document = 'fault' in parsed ? {} : fieldsOf(parsed.value)
  const result = isSwagger(document) ? convertSwagger(document) : null
  return result === null || 'fault' in result ? null : JSON.stringify(result.document)
}
