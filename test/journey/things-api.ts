/** An API with one operation for each rule of the gateway, and the calls to it. */

import type { AddressInfo, Server } from 'node:net'
import { request } from 'undici'
import type { Enrolled, Service } from './service.ts'

const schema = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' } },
  additionalProperties: false,
}
const json = (of: object) => ({ required: true, content: { 'application/json': { schema: of } } })
const answers = { 200: { description: 'ok' } }

/** Returns the OpenAPI document of the API. */
export const document = (title: string) => ({
  openapi: '3.1.0',
  info: { title, version: '1.0.0' },
  servers: [{ url: 'http://127.0.0.1:1' }],
  components: {
    securitySchemes: {
      oauth: {
        type: 'oauth2',
        flows: { clientCredentials: { tokenUrl: '/t', scopes: { 'things:read': 'read', 'things:write': 'write' } } },
      },
      key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    },
  },
  security: [{ oauth: ['things:read'] }, { key: [] }],
  paths: {
    '/things': {
      get: { operationId: 'listThings', responses: answers },
      post: {
        operationId: 'makeThing',
        security: [{ oauth: ['things:write'] }],
        requestBody: json(schema),
        responses: answers,
      },
    },
    '/limited': { get: { operationId: 'limited', responses: answers } },
    '/dear': { get: { operationId: 'dear', responses: answers } },
    '/upload': {
      post: { operationId: 'upload', requestBody: { content: { 'application/octet-stream': {} } }, responses: answers },
    },
    '/public': { get: { operationId: 'open', security: [], responses: answers } },
    '/{how}': {
      get: {
        operationId: 'how',
        parameters: [{ name: 'how', in: 'path', required: true, schema: { type: 'string' } }],
        responses: answers,
      },
    },
  },
})

export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Calls the gateway; `code` is the error code of a problem, and `document` the parsed JSON body. */
export async function callGateway(service: Service, path: string, options: Parameters<typeof request>[1] = {}) {
  const { statusCode, headers, body } = await request(service.gatewayUrl + path, options)
  const text = await body.text()
  const document = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
  return { status: statusCode, headers, code: document['code'], document, text }
}

export async function bearerOf(caller: Enrolled): Promise<{ authorization: string }> {
  return { authorization: `Bearer ${await caller.token()}` }
}
