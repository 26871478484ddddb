/** The official client reaches the operations of an API over MCP, in both revisions of the protocol. */

import { describe, expect, it } from 'vitest'
import { openMcpClient } from '../../fixtures/mcp-client.ts'
import { openBackend, openTestGateway, type TestGatewayOptions } from '../../fixtures/test-gateway.ts'

const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const thing = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string' }, parent: { $ref: '#/components/schemas/Thing' } },
}

const THINGS = {
  '/things': {
    get: {
      operationId: 'listThings',
      summary: 'List things',
      parameters: [
        { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 100 } },
        { name: 'tags', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
      ],
      responses: { 200: { description: 'ok', ...json({ type: 'array', items: thing }) } },
    },
    post: {
      operationId: 'createThing',
      requestBody: { required: true, ...json(thing) },
      responses: { 201: { description: 'made', ...json(thing) } },
    },
  },
  '/things/{id}': {
    parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
    get: { operationId: 'getThing', responses: { 200: { description: 'ok', ...json(thing) } } },
    delete: { operationId: 'deleteThing', responses: { 204: { description: 'gone' } } },
  },
  '/hidden': { get: { operationId: 'hidden', 'x-tollgate-mcp': false, responses: { 200: { description: 'ok' } } } },
}

async function openThings(options: Partial<TestGatewayOptions> = {}) {
  const received: string[] = []
  const origin = await openBackend((incoming, response) => {
    let body = ''
    incoming.on('data', (chunk) => (body += chunk))
    incoming.on('end', () => {
      received.push(`${incoming.method} ${incoming.url} ${body}`)
      const { pathname } = new URL(incoming.url ?? '', 'http://backend')
      if (incoming.method === 'DELETE') {
        response.writeHead(204).end()
        return
      }
      if (pathname === '/things/none') {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"no such thing"}')
        return
      }
      const status = incoming.method === 'POST' ? 201 : 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(pathname === '/things' && status === 200 ? '[{"id":"a"}]' : '{"id":"a"}')
    })
  })
  const gateway = await openTestGateway({
    backend: { origin },
    paths: THINGS,
    root: {
      'x-tollgate-mcp': true,
      components: {
        securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
        schemas: { Thing: thing },
      },
    },
    ...options,
  })
  return { gateway, received, url: `http://127.0.0.1:${gateway.port}/things-v1/mcp` }
}

describe.each([
  // initialize, notifications/initialized, and a GET for messages of the server
  ['2025-11-25', 3],
  // server/discover
  ['2026-07-28', 1],
] as const)('a client of revision %s', (revision, before) => {
  it('lists the exposed operations as tools', async () => {
    const { url } = await openThings()
    const client = await openMcpClient(url, 'key-s', revision)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['listThings', 'createThing', 'getThing', 'deleteThing'])
    expect(tools[0]).toMatchObject({
      title: 'List things',
      annotations: { readOnlyHint: true, idempotentHint: true },
      inputSchema: { type: 'object', properties: { limit: { type: 'integer', maximum: 100 } } },
      outputSchema: { required: ['result'] },
    })
    expect(tools[1]?.inputSchema).toMatchObject({
      required: ['body'],
      properties: { body: { required: ['id'], properties: { parent: { properties: { parent: {} } } } } },
    })
  })

  it('calls operations, and each call has one record', async () => {
    const { url, gateway, received } = await openThings()
    const client = await openMcpClient(url, 'key-s', revision)
    await gateway.recorded(before)
    const list = await client.callTool({ name: 'listThings', arguments: { limit: 2, tags: ['a b', 'c&d'] } })
    expect(list).toMatchObject({
      content: [{ type: 'text', text: '[{"id":"a"}]' }],
      structuredContent: { result: [{ id: 'a' }] },
    })
    const created = await client.callTool({ name: 'createThing', arguments: { body: { id: 'ä' } } })
    expect(created.structuredContent).toEqual({ id: 'a' })
    expect(await client.callTool({ name: 'deleteThing', arguments: { id: 'x' } })).toMatchObject({ isError: false })
    expect(received).toEqual([
      'GET /things?limit=2&tags=a%20b&tags=c%26d ',
      'POST /things {"id":"ä"}',
      'DELETE /things/x ',
    ])
    expect((await gateway.recorded(before + 3)).slice(before)).toMatchObject([
      { outcome: 'served', status: 200, subscription: 's', flags: 1 },
      { outcome: 'served', status: 201, subscription: 's', flags: 1 },
      { outcome: 'served', status: 204, subscription: 's', flags: 1 },
    ])
  })

  it('gets a refusal as a tool error that it can correct', async () => {
    const { url, gateway, received } = await openThings()
    const client = await openMcpClient(url, 'key-s', revision)
    await gateway.recorded(before)
    const result = await client.callTool({ name: 'listThings', arguments: { limit: 1_000 } })
    expect(result).toMatchObject({ isError: true })
    expect(JSON.stringify(result.content)).toContain('payload_invalid')
    expect(JSON.stringify(result.content)).toContain('/query/limit')
    expect(await client.callTool({ name: 'listThings', arguments: { limti: 1 } })).toMatchObject({ isError: true })
    expect(await client.callTool({ name: 'getThing', arguments: { id: '../admin' } })).toMatchObject({ isError: true })
    expect(await client.callTool({ name: 'getThing', arguments: { id: '..' } })).toMatchObject({ isError: true })
    expect(received).toEqual([])
    expect((await gateway.recorded(before + 4)).slice(before).map(({ outcome, status }) => [outcome, status])).toEqual(
      Array.from({ length: 4 }, () => ['payload_invalid', 400]),
    )
  })

  it('gets an error of the backend as a tool error', async () => {
    const { url } = await openThings()
    const client = await openMcpClient(url, 'key-s', revision)
    expect(await client.callTool({ name: 'getThing', arguments: { id: 'none' } })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Status 404\n{"error":"no such thing"}' }],
    })
  })

  it('cannot call what is not exposed', async () => {
    const { url } = await openThings()
    const client = await openMcpClient(url, 'key-s', revision)
    await expect(client.callTool({ name: 'hidden', arguments: {} })).rejects.toThrow('There is no tool of this name.')
  })
})
