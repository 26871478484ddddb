/** An independent client reaches the platform over MCP. */

import { createMCPClient } from '@ai-sdk/mcp'
import { expect, it, onTestFinished } from 'vitest'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { openTestPlatform } from '../../fixtures/test-platform.ts'

const RISKS = 60

it('lists tools, calls one, is refused, and reads pages of resources and a prompt', async () => {
  const platform = await openTestPlatform()
  for (let count = 0; count < RISKS; count++) {
    const event = riskEvent({ riskId: `rsk_${String(count).padStart(2, '0')}` })
    platform.risks.positions.push({ event, state: 'open' })
  }
  const address = await platform.server.app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { authorization: `Bearer ${platform.token('acme', ['risks:read', 'requests:read'])}` }
  const client = await createMCPClient({ transport: { type: 'http', url: `${address}/mcp`, headers } })
  onTestFinished(() => client.close())

  const definitions = await client.listTools()
  expect(definitions.tools.map(({ name }) => name)).toContain('current_risks')
  const tools = client.toolsFromDefinitions(definitions)
  const call = async (name: string, args: object) =>
    tools[name]?.execute(args, { toolCallId: '1', messages: [], context: {} }) as Promise<object>
  expect(await call('current_risks', { limit: 1 })).toMatchObject({ isError: false })
  expect(await call('call_operation', { operation: 'listConsumers' })).toMatchObject({ isError: true })

  const first = await client.listResources()
  const second = await client.listResources({ params: { cursor: first.nextCursor ?? '' } })
  expect([first.resources.length, second.resources.length, second.nextCursor]).toEqual([50, 10, undefined])
  const uri = second.resources[0]?.uri ?? ''
  expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri, mimeType: 'application/json' }] })
  const prompt = await client.experimental_getPrompt({ name: 'why_did_my_call_fail', arguments: { request_id: 'abc' } })
  expect(JSON.stringify(prompt)).toContain('Explain the call abc')
})
