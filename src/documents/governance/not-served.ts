/**
 * Rejects the features of OpenAPI 3.2 that the gateway does not support.
 *
 * If the gateway ignored them, requests would pass that the author of the document expects it to check.
 */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import type { DeclaredOperation } from './operations.ts'
import { escapePointer, resolvePointer } from '../../foundation/json/references.ts'

const REFERENCES_MAX = 16

export function findNotServed(document: Fields, operations: readonly DeclaredOperation[]): ProblemPointer[] {
  const faults: ProblemPointer[] = []

  function follow(value: unknown, pointer: string): { readonly fields: Fields; readonly pointer: string } {
    let at = { fields: fieldsOf(value), pointer }
    for (let count = 0; typeof at.fields['$ref'] === 'string' && count < REFERENCES_MAX; count++) {
      const reference = at.fields['$ref']
      at = { fields: fieldsOf(resolvePointer(document, reference)), pointer: reference.slice(1) }
    }
    return at
  }

  function findInParameters(items: unknown, pointer: string): void {
    if (!Array.isArray(items)) return
    items.forEach((item: unknown, index) => {
      const { fields, pointer: at } = follow(item, `${pointer}/parameters/${index}`)
      if (fields['in'] === 'querystring')
        faults.push({
          pointer: at,
          detail: 'The gateway does not support `in: querystring`; declare each query parameter.',
        })
      if (fields['style'] === 'cookie')
        faults.push({ pointer: at, detail: 'The gateway reads cookies in style `form` only; remove `style`.' })
    })
  }

  function findInContent(holder: unknown, pointer: string): void {
    const { fields, pointer: at } = follow(holder, pointer)
    for (const [type, media] of Object.entries(fieldsOf(fields['content']))) {
      const place = `${at}/content/${escapePointer(type)}`
      if (fieldsOf(media)['$ref'] !== undefined)
        faults.push({
          pointer: place,
          detail: 'The gateway does not resolve references to media types; inline the media type.',
        })
      if (fieldsOf(media)['itemSchema'] !== undefined)
        faults.push({ pointer: place, detail: 'The gateway does not validate items of a stream; remove `itemSchema`.' })
    }
  }

  for (const [path, item] of Object.entries(fieldsOf(document['paths']))) {
    const { fields, pointer } = follow(item, `/paths/${escapePointer(path)}`)
    for (const name of ['query', 'additionalOperations']) {
      if (fields[name] === undefined) continue
      const detail =
        'The gateway serves GET, PUT, POST, DELETE, OPTIONS, HEAD, PATCH and TRACE only; remove this operation.'
      faults.push({ pointer: `${pointer}/${name}`, detail })
    }
  }
  for (const { fields, shared, pointer, itemPointer } of operations) {
    findInParameters(shared, itemPointer)
    findInParameters(fields['parameters'], pointer)
    findInContent(fields['requestBody'], `${pointer}/requestBody`)
    for (const [status, response] of Object.entries(fieldsOf(fields['responses'])))
      findInContent(response, `${pointer}/responses/${escapePointer(status)}`)
  }
  // A component with several references is reported once.
  return [...new Map(faults.map((fault) => [`${fault.pointer} ${fault.detail}`, fault])).values()]
}
