/** Tools of the platform over MCP, with the rights, limits and records of the calls that they make. */

import { describe, expect, it } from 'vitest'
import { CHOSEN_TOOLS } from '../../../src/interfaces/platform/mcp/chosen-tools.ts'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { sendMessage, textOf, type MessageAnswer, type Revision } from '../../fixtures/platform-messages.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { openTestPlatform, PAYMENTS, PAYMENTS_SLA, type TestPlatform } from '../../fixtures/test-platform.ts'

const SEARCH = ['search_operations', 'describe_operation', 'call_operation']
const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28']

const namesOf = ({ result }: MessageAnswer): string[] =>
  (result['tools'] as readonly { name: string }[]).map(({ name }) => name)

const recordsOf = ({ calls }: TestPlatform): string[] =>
  calls.map(({ channel, operationId, status, code }) => `${channel} ${operationId} ${status} ${code}`)

function callTool(platform: TestPlatform, token: string, name: string, args: object = {}, revision?: Revision) {
  return sendMessage(
    platform,
    token,
    'tools/call',
    { name, arguments: args },
    revision === undefined ? {} : { revision },
  )
}

function callOperation(platform: TestPlatform, token: string, operation: string, args: object = {}) {
  return callTool(platform, token, 'call_operation', { operation, arguments: args })
}

describe('the tools of the platform', () => {
  it.each(REVISIONS)(
    'are all chosen ones and those that search, for a caller with all scopes (%s)',
    async (revision) => {
      const platform = await openTestPlatform()
      const list = await sendMessage(platform, platform.token('acme'), 'tools/list', {}, { revision })
      expect(list.status).toBe(200)
      expect(namesOf(list)).toEqual([...Object.keys(CHOSEN_TOOLS), ...SEARCH])
      for (const tool of list.result['tools'] as readonly Record<string, unknown>[]) {
        expect(tool).toMatchObject({ title: expect.any(String), inputSchema: { type: 'object' } })
        expect(JSON.stringify(tool['inputSchema'])).not.toContain('$ref')
      }
      expect(recordsOf(platform)).toEqual(['mcp  200 served'])
    },
  )

  it('are those that the scopes permit, in the list and in the search', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme', ['risks:read'])
    expect(namesOf(await sendMessage(platform, token, 'tools/list'))).toEqual([
      'current_risks',
      'explain_risk',
      ...SEARCH,
    ])
    const query = 'list risks consumers subscriptions usage'
    const found = JSON.parse(textOf(await callTool(platform, token, 'search_operations', { query }))) as object[]
    const names = ['getMute', 'getRisk', 'listMutes', 'listMutesOfRisk', 'listRisks'].map((operation) => ({
      operation,
    }))
    expect(found).toHaveLength(names.length)
    expect(found).toEqual(expect.arrayContaining(names.map((each) => expect.objectContaining(each))))
    const described = await callTool(platform, token, 'describe_operation', { operation: 'listConsumers' })
    expect(described.result).toMatchObject({ isError: true })
  })

  it('leave out own widths that cover no consumer', async () => {
    const platform = await openTestPlatform()
    const scopes = ['usage:read:own']
    const ofClient = platform.token('acme', scopes)
    const ofNobody = platform.token('acme', scopes, undefined, { person: 'usr_unknown' })
    expect(namesOf(await sendMessage(platform, ofClient, 'tools/list'))).toContain('usage_totals')
    expect(namesOf(await sendMessage(platform, ofNobody, 'tools/list'))).toEqual(SEARCH)
  })

  it('call an operation once, which is recorded with its channel and is found by the id in the answer', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    for (const revision of REVISIONS) {
      const { status, result, headers } = await callTool(platform, token, 'search_catalogue', {}, revision)
      expect([status, result['isError'], result['structuredContent']]).toEqual([200, false, { items: [], next: null }])
      expect(headers['x-request-id']).toBe(platform.calls.at(-1)?.requestId)
    }
    await platform.send('GET', '/v1/apis', { token, headers: { 'x-channel': 'mcp', channel: 'mcp' } })
    expect(recordsOf(platform)).toEqual([
      'mcp listApis 200 served',
      'mcp listApis 200 served',
      'http listApis 200 served',
    ])
    expect(platform.calls.every(({ terms }) => terms?.isCounted === true)).toBe(true)
  })

  it('return a refusal as a tool error with its problem document', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme', ['risks:read'])
    const answer = await callOperation(platform, token, 'createConsumer', {
      body: { name: 'Shop', kind: 'application' },
    })
    expect([answer.status, answer.result['isError']]).toEqual([200, true])
    expect(textOf(answer)).toMatch(
      /^This operation requires the scope consumers:write\..*"code":"operation_forbidden"/s,
    )
    expect(recordsOf(platform)).toEqual(['mcp createConsumer 403 operation_forbidden'])
  })

  it('accept documents as text', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const checked = await callTool(platform, token, 'check_document', { body: { specification: PAYMENTS.toString() } })
    expect(checked.result).toMatchObject({ isError: false, structuredContent: { score: expect.any(Number) } })
    await publishApi(platform, token)
    const args = { body: { api: 'payments-v1', specification: PAYMENTS_SLA.toString() } }
    const made = await callTool(platform, token, 'propose_declaration', args)
    expect(made.result).toMatchObject({ isError: false, structuredContent: { api: 'payments-v1', inForce: true } })
    const { id } = made.result['structuredContent'] as { id: string }
    expect(textOf(await callTool(platform, token, 'read_declaration', { id }))).toBe(PAYMENTS_SLA.toString())
  })

  it('accept a document of more than 1 MiB', async () => {
    const platform = await openTestPlatform()
    const specification = `${PAYMENTS.toString()}\n# ${'x'.repeat(1_300_000)}\n`
    const answer = await callTool(platform, platform.token('acme'), 'check_document', { body: { specification } })
    expect(answer.result).toMatchObject({ isError: false, structuredContent: { score: expect.any(Number) } })
  })

  it('repeat a creation with the same key without a second effect', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const args = { body: { name: 'Shop', kind: 'application' }, 'Idempotency-Key': 'once' }
    const made = [
      await callOperation(platform, token, 'createConsumer', args),
      await callOperation(platform, token, 'createConsumer', args),
    ].map(({ result }) => (result['structuredContent'] as { id: string }).id)
    expect(made[0]).toBe(made[1])
  })

  it('show the ETag of what can be changed, which protects a change', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const made = await callOperation(platform, token, 'createConsumer', { body: { name: 'Shop', kind: 'application' } })
    const { id } = made.result['structuredContent'] as { id: string }
    const { result } = await callOperation(platform, token, 'getConsumer', { id })
    const [, tag = ''] = /ETag: (\S+)/.exec(JSON.stringify(result['content']).replaceAll('\\"', '"')) ?? []
    const change = () =>
      callOperation(platform, token, 'updateConsumer', { id, 'If-Match': tag, body: { name: 'Stall' } })
    expect((await change()).result).toMatchObject({ isError: false })
    expect(textOf(await change())).toContain('version_conflict')
  })

  it.each([
    ['dots in a path', 'getConsumer', { id: '..' }],
    ['one dot in a path', 'getApiPolicy', { name: '.' }],
    ['an empty path parameter', 'getConsumer', { id: '' }],
    ['a long path parameter', 'getConsumer', { id: 'x'.repeat(300) }],
    ['a path parameter with a lone surrogate', 'getConsumer', { id: '\ud800' }],
    ['an unknown argument', 'listConsumers', { verbose: true }],
    ['a wrong type', 'listConsumers', { limit: 'many' }],
    ['an object in a path', 'getConsumer', { id: {} }],
    ['a member of the prototype', 'createConsumer', { body: JSON.parse('{"__proto__":{"name":"x"}}') }],
    ['a header that is no header value', 'createConsumer', { 'Idempotency-Key': 'a\nb', body: {} }],
  ])('refuse %s as an invalid payload of the operation', async (_, operation, args) => {
    const platform = await openTestPlatform()
    const answer = await callOperation(platform, platform.token('acme'), operation, args as object)
    expect(textOf(answer)).toContain('"code":"payload_invalid"')
    expect(recordsOf(platform)).toEqual([`mcp ${operation} 400 payload_invalid`])
  })

  it('never leave their operation, whatever a path parameter contains', async () => {
    const platform = await openTestPlatform()
    for (const id of ['a/b', 'a%2Fb', '%2e%2e', 'x?limit=1', 'x#y', '..%2f..', 'con_1/disable', '\\..\\']) {
      const answer = await callOperation(platform, platform.token('acme'), 'getConsumer', { id })
      expect(answer.result['isError']).toBe(true)
    }
    expect(new Set(platform.calls.map(({ operationId }) => operationId))).toEqual(new Set(['getConsumer']))
  })

  it('exclude public operations and streams without an end', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    for (const operation of [
      'getMetrics',
      'getHealth',
      'subscribeToRisks',
      'exportTenant',
      'constructor',
      '__proto__',
    ]) {
      const { result } = await callOperation(platform, token, operation)
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('no operation') }] })
    }
    expect(await callTool(platform, token, 'toString')).toMatchObject({ status: 200, error: { code: -32_602 } })
    const listed = await callTool(platform, token, 'find_calls')
    expect(textOf(listed)).toBe('{"items":[],"next":null}')
  })

  it('return 503 as a tool error if the call cannot be recorded, and record nothing twice', async () => {
    const platform = await openTestPlatform()
    platform.refuseRecords = new Error('disk')
    const answer = await callTool(platform, platform.token('acme'), 'list_consumers')
    expect([answer.status, answer.result['isError']]).toEqual([200, true])
    expect(platform.recordings).toBe(1)
  })
})

describe('the rights of a caller over MCP', () => {
  it('end at its tenant', async () => {
    const platform = await openTestPlatform()
    const [owner, other] = [platform.token('acme'), platform.token('other')]
    const made = await callOperation(platform, owner, 'createConsumer', { body: { name: 'Shop', kind: 'application' } })
    const { id } = made.result['structuredContent'] as { id: string }
    platform.risks.positions.push({ event: riskEvent({ riskId: 'rsk_1' }), state: 'open' })
    expect(textOf(await callOperation(platform, other, 'getConsumer', { id }))).toContain('not_found')
    expect(textOf(await callTool(platform, other, 'list_consumers'))).not.toContain(id)
    expect(textOf(await callTool(platform, other, 'current_risks'))).not.toContain('rsk_1')
    expect((await sendMessage(platform, other, 'resources/list')).text).not.toContain('rsk_1')
    expect((await sendMessage(platform, owner, 'resources/list')).text).toContain('rsk_1')
    const read = await sendMessage(platform, other, 'resources/read', { uri: 'tollgate://risks/rsk_1' })
    expect(read.error).toMatchObject({ code: -32_602 })
  })

  it('end at its consumer with the own width', async () => {
    const platform = await openTestPlatform()
    const own = platformScopes().filter((scope) => scope.endsWith(':own'))
    const token = platform.token('acme', own, undefined, { consumer: 'con_own' })
    await callTool(platform, token, 'usage_totals', { customer: 'con_acme' })
    await callTool(platform, token, 'usage_totals', { groupBy: 'customer' })
    expect(platform.usageQueries).toMatchObject([{ customer: 'con_own' }])
    const chosen = await callTool(platform, token, 'usage_totals', { 'X-Consumer-Id': 'con_acme' })
    expect(textOf(chosen)).toContain('operation_forbidden')
  })

  it('are those of the credential at the time of each call', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    expect((await callTool(platform, token, 'list_consumers')).status).toBe(200)
    platform.callers.delete(token)
    expect((await callTool(platform, token, 'list_consumers')).status).toBe(401)
  })
})
