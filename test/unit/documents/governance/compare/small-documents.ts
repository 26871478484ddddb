/** Small documents for tests of the comparison, and the rules that it reports for two of them. */

import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { readSpecification, type Specification } from '../../../../../src/documents/governance/specification.ts'

export type Json = Record<string, unknown>

export const NOW_MS = Date.UTC(2027, 0, 15)

const schemes = {
  oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes: { a: 'a', b: 'b' } } } },
  other: { type: 'openIdConnect', openIdConnectUrl: 'https://idp.example' },
  key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
}
export const json = (schema: unknown) => ({ 'application/json': { schema } })

/** A document with one operation at `/things/{id}`, and more where a test adds some. */
export function toDocument(operation: Json = {}, more: Json = {}): Json {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
  const { parameters = [], ...fields } = operation
  const post = {
    operationId: 'change',
    parameters: [id, ...(parameters as unknown[])],
    responses: { 200: { description: 'done' } },
    ...fields,
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Things', version: '1.0.0' },
    paths: { '/things/{id}': { post }, ...(more['paths'] as Json) },
    components: { securitySchemes: schemes, schemas: more['schemas'] ?? {} },
    ...(more['security'] !== undefined && { security: more['security'] }),
    ...(more['x-tollgate-units'] !== undefined && { 'x-tollgate-units': more['x-tollgate-units'] }),
  }
}

export const read = (document: unknown): Promise<Specification> =>
  readSpecification(Buffer.from(JSON.stringify(document)))

export async function idsOf(before: unknown, after: unknown): Promise<string[]> {
  return compareDocuments(await read(before), await read(after), NOW_MS).map(({ id }) => id)
}

export const sent = (schema: unknown, required = false) =>
  toDocument({ requestBody: { required, content: json(schema) } })
export const got = (schema: unknown) => toDocument({ responses: { 200: { description: 'ok', content: json(schema) } } })
export const asked = (...parameters: Json[]) => toDocument({ parameters })
export const secured = (security: unknown) => toDocument({ security })
export const query = (more: Json = {}) => ({ name: 'q', in: 'query', schema: { type: 'string' }, ...more })
const other = { get: { operationId: 'other', responses: { 200: { description: 'ok' } } } }
export const two = toDocument({}, { paths: { '/others': other } })
export const one = toDocument()
export const object = (properties: Json, required: string[] = [], more: Json = {}) => ({
  type: 'object',
  properties,
  required,
  ...more,
})
export const text = { type: 'string' }
export const answered = (headers: Json) => toDocument({ responses: { 200: { description: 'ok', headers } } })
export const list = (more: Json = {}) => query({ schema: { type: 'array', items: text }, ...more })
export const named = (more: Json) => object({}, [], more)
export const spelt = (pattern: string) => ({ ...text, pattern })
export const mapped = (mapping: Json) => ({ oneOf: [object({})], discriminator: { propertyName: 'kind', mapping } })
export const served = (...urls: string[]) => ({ ...one, servers: urls.map((url) => ({ url })) })
export const based = (version: string) => ({
  ...one,
  servers: [{ url: 'https://a.example/{version}', variables: { version: { default: version } } }],
})
export const hooked = (webhooks: Json) => ({ ...one, webhooks })
export const called = (callbacks: Json) => toDocument({ callbacks })
export const item = { post: { responses: { 200: { description: 'ok' } } } }
export const typed = (mediaType: string) =>
  toDocument({ requestBody: { content: { [mediaType]: { schema: object({}) } } } })
export const partsOf = (schema: unknown) =>
  toDocument({ requestBody: { content: { 'multipart/form-data': { schema } } } })
export const sized = (bytes: number) =>
  toDocument({ requestBody: { content: json(text) }, 'x-tollgate-max-body-bytes': bytes })
export const answering = (mediaType: string, schema: unknown = {}) =>
  toDocument({ responses: { 200: { description: 'ok', content: { ...json(text), [mediaType]: { schema } } } } })
export const replying = (...statuses: string[]) =>
  toDocument({ responses: Object.fromEntries(statuses.map((status) => [status, { description: 'ok' }])) })
export const ending = (sunset: string) =>
  toDocument({}, { paths: { '/others': { get: { ...other.get, deprecated: true, 'x-sunset': sunset } } } })
