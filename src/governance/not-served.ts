/**
 * What OpenAPI 3.2 can say and the gateway does not do: told as faults of the document, because a promise that
 * is passed over in silence would let through what its author believes is checked.
 */

import type { ProblemPointer } from '../domain/problem.ts'
import { fieldsOf, type Fields } from '../json/fields.ts'
import type { DeclaredOperation } from './operations.ts'
import { escapePointer, resolvePointer } from '../json/references.ts'

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
        faults.push({ pointer: at, detail: 'A query string is checked by its parameters: declare them one by one.' })
      if (fields['style'] === 'cookie')
        faults.push({ pointer: at, detail: 'Cookies are read in the style `form`: leave `style` out.' })
    })
  }

  function findInContent(holder: unknown, pointer: string): void {
    const { fields, pointer: at } = follow(holder, pointer)
    for (const [type, media] of Object.entries(fieldsOf(fields['content']))) {
      const place = `${at}/content/${escapePointer(type)}`
      if (fieldsOf(media)['$ref'] !== undefined)
        faults.push({ pointer: place, detail: 'A media type by reference is not followed: write it out here.' })
      if (fieldsOf(media)['itemSchema'] !== undefined)
        faults.push({ pointer: place, detail: 'Items of a stream are not checked: leave `itemSchema` out.' })
    }
  }

  for (const [path, item] of Object.entries(fieldsOf(document['paths']))) {
    const { fields, pointer } = follow(item, `/paths/${escapePointer(path)}`)
    for (const name of ['query', 'additionalOperations']) {
      if (fields[name] === undefined) continue
      const detail = 'The gateway serves GET, PUT, POST, DELETE, OPTIONS, HEAD, PATCH and TRACE; leave it out.'
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
  // Of what several refer to once.
  return [...new Map(faults.map((fault) => [`${fault.pointer} ${fault.detail}`, fault])).values()]
}
