/** Common parts of the descriptions of OAuth paths: parameters of clients, forms, and answers with their errors. */

import type { Schema } from './schema-type.ts'

export type Fragment = Readonly<Record<string, unknown>>

export const FORM = 'application/x-www-form-urlencoded'
export const long: Schema = { type: 'string', maxLength: 4_096 }
export const client = { client_id: long, client_secret: { ...long, writeOnly: true } }
const ERRORS: Readonly<Record<string, string>> = {
  default: 'Any other error.',
  400: 'The request is refused; `error` contains the reason.',
  401: 'The client could not be authenticated.',
  404: 'This API does not exist.',
  429: 'The client has sent too many wrong secrets. `Retry-After` contains the time to wait.',
  503: 'The request cannot be served at the moment.',
}

export function answers(
  status: number,
  description: string,
  schema: Schema | null,
  codes: readonly string[],
): Fragment {
  const content = schema === null ? {} : { content: { 'application/json': { schema } } }
  return {
    [status]: { description, ...content },
    ...Object.fromEntries([...codes, 'default'].map((code) => [code, failure(code)])),
  }
}

/** Other parameters are ignored (RFC 6749, 3.2). */
export function form(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return { type: 'object', required, properties }
}

export function failure(code: string): Fragment {
  const schema = { $ref: '#/components/schemas/OAuthError' }
  return { description: ERRORS[code], content: { 'application/json': { schema } } }
}
