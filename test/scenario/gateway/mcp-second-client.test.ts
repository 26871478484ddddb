/** An independent client reaches the operations of an API over MCP. */

import { createMCPClient } from '@ai-sdk/mcp'
import { expect, it, onTestFinished } from 'vitest'
import { openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'

const OPERATIONS = 60
const quantity = { name: 'quantity', in: 'query', schema: { type: 'integer', maximum: 9 } }

it('lists the tools of an API in pages, calls one and is refused', async () => {
  const origin = await openBackend((incoming, response) => {
    response.setHeader('content-type', 'text/plain')
    response.end(`called ${incoming.url}`)
  })
  const paths = Object.fromEntries(
    Array.from({ length: OPERATIONS }, (_, index) => [
      `/operation-${index}`,
      { get: { operationId: `operation${index}`, parameters: [quantity], responses: { 200: { description: 'ok' } } } },
    ]),
  )
  const root = { 'x-tollgate-mcp': { mode: 'tools' } }
  const { port } = await openTestGateway({ backend: { origin }, paths, root })
  const url = `http://127.0.0.1:${port}/things-v1/mcp`
  const client = await createMCPClient({ transport: { type: 'http', url, headers: { 'x-api-key': 'key-s' } } })
  onTestFinished(() => client.close())

  const first = await client.listTools()
  const second = await client.listTools({ params: { cursor: first.nextCursor ?? '' } })
  expect([first.tools.length, second.tools.length, second.nextCursor]).toEqual([50, 10, undefined])
  const tools = client.toolsFromDefinitions(first)
  const call = async (args: object) =>
    tools['operation7']?.execute(args, { toolCallId: '1', messages: [], context: {} }) as Promise<object>
  const content = [{ type: 'text', text: 'called /operation-7?quantity=2' }]
  expect(await call({ quantity: 2 })).toMatchObject({ isError: false, content })
  expect(await call({ quantity: 10 })).toMatchObject({ isError: true })
})
