/** A record counts the bytes of a response, not its characters. */

import { expect, it } from 'vitest'
import { openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'

const schema = { type: 'object', properties: { größe: { type: 'string' } } }
const post = {
  operationId: 'add',
  security: [],
  requestBody: { content: { 'application/json': { schema } } },
  responses: { 200: { description: 'ok' } },
}

it('counts the bytes of a refusal that names a member with an umlaut', async () => {
  const counted: number[] = []
  const { port, recorded } = await openTestGateway({
    backend: { origin: await openBackend((_, response) => response.end()) },
    paths: { '/things': { post } },
    append: (call, record) => {
      counted.push(call.responseBytes)
      record(call)
    },
  })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ größe: 1 })
  const response = await fetch(`http://127.0.0.1:${port}/things-v1/things`, { method: 'POST', headers, body })
  const text = await response.text()
  expect(text).toContain('größe')
  await recorded(1)
  expect(counted).toEqual([Buffer.byteLength(text)])
})
