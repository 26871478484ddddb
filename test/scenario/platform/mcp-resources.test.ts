/** Resources and prompts of the platform over MCP. */

import { describe, expect, it } from 'vitest'
import { CHOSEN_TOOLS } from '../../../src/interfaces/platform/mcp/chosen-tools.ts'
import { sendMessage, type MessageAnswer } from '../../fixtures/platform-messages.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const namesOf = ({ result }: MessageAnswer, member: string): string[] =>
  (result[member] as readonly { name: string }[]).map(({ name }) => name)

const recordsOf = ({ calls }: TestPlatform): string[] =>
  calls.map(({ channel, operationId, status, code }) => `${channel} ${operationId} ${status} ${code}`)

describe('the resources of the platform', () => {
  it('are pages of documents, declarations and risks, each read by a call of its operation', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    await publishApi(platform, token)
    for (let count = 0; count < 60; count++) {
      const event = riskEvent({ riskId: `rsk_${String(count).padStart(2, '0')}` })
      platform.risks.positions.push({ event, state: 'open' })
    }
    const uris: string[] = []
    let cursor: unknown
    do {
      const { result } = await sendMessage(platform, token, 'resources/list', cursor === undefined ? {} : { cursor })
      uris.push(...(result['resources'] as readonly { uri: string }[]).map(({ uri }) => uri))
      cursor = result['nextCursor']
    } while (cursor !== undefined)
    expect(uris.filter((uri) => uri.startsWith('tollgate://risks/'))).toHaveLength(60)
    expect(new Set(uris).size).toBe(uris.length)
    const document = uris.find((uri) => uri.startsWith('tollgate://specifications/'))
    const read = await sendMessage(platform, token, 'resources/read', { uri: document })
    expect(read.result).toMatchObject({ contents: [{ uri: document, text: expect.stringContaining('openapi') }] })
    expect(recordsOf(platform).at(-1)).toBe('mcp getOpenApiContent 200 served')
  })

  it('are those that the scopes permit', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme', ['risks:read'])
    const templates = await sendMessage(platform, token, 'resources/templates/list')
    expect(namesOf(templates, 'resourceTemplates')).toEqual(['risks'])
    const refused = await sendMessage(platform, token, 'resources/read', { uri: 'tollgate://declarations/sla_1' })
    expect(refused).toMatchObject({ status: 200, error: { data: { code: 'operation_forbidden' } } })
    expect(recordsOf(platform).at(-1)).toBe('mcp getOpenSlaContent 403 operation_forbidden')
  })

  it.each(['9:', '0:nonsense', '', 'x', '0:' + 'x'.repeat(6_000), 7])('refuse the cursor %j', async (cursor) => {
    const platform = await openTestPlatform()
    const { error } = await sendMessage(platform, platform.token('acme'), 'resources/list', { cursor })
    expect(error).toMatchObject({ code: -32_602 })
  })

  it.each([
    'file:///etc/passwd',
    'tollgate://secrets/1',
    'tollgate://risks/',
    'tollgate://risks/%',
    'tollgate://risks/a/b',
  ])('have none at %s', async (uri) => {
    const platform = await openTestPlatform()
    const { error } = await sendMessage(platform, platform.token('acme'), 'resources/read', { uri })
    expect(error).toMatchObject({ code: -32_602 })
    expect(recordsOf(platform)).toEqual(['mcp  200 served'])
  })
})

describe('the prompts of the platform', () => {
  it('are questions that name the tools which answer them', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const names = namesOf(await sendMessage(platform, token, 'prompts/list'), 'prompts')
    expect(names).toEqual(['why_did_my_call_fail', 'review_api', 'who_uses_most'])
    for (const name of names) {
      const { text } = await sendMessage(platform, token, 'prompts/get', { name, arguments: { api: 'orders-v1' } })
      expect(text).toContain('orders-v1')
      const mentioned = [...text.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)].map(([word]) => word)
      const unknown = mentioned.filter((word) => !Object.hasOwn(CHOSEN_TOOLS, word))
      expect(unknown).toEqual([])
    }
    expect(
      namesOf(await sendMessage(platform, platform.token('acme', ['apis:read']), 'prompts/list'), 'prompts'),
    ).toEqual(['review_api'])
  })

  it.each([
    ['an unknown name', 'constructor', {}],
    ['a missing argument', 'review_api', {}],
    ['an unknown argument', 'review_api', { api: 'a-v1', more: 'x' }],
    ['a long argument', 'review_api', { api: 'x'.repeat(300) }],
  ])('refuse %s', async (_, name, args) => {
    const platform = await openTestPlatform()
    const { error } = await sendMessage(platform, platform.token('acme'), 'prompts/get', { name, arguments: args })
    expect(error).toMatchObject({ code: -32_602 })
  })
})
