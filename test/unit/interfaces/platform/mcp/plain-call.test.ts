/** A call that is answered without the SDK gets the answer that the SDK would give, which also checks the message. */

import * as sdk from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { fieldsOf, type Fields } from '../../../../../src/foundation/json/fields.ts'
import { readMessage, type Message } from '../../../../../src/boundary/mcp/message.ts'
import type { Exchange } from '../../../../../src/interfaces/platform/mcp/exchange.ts'
import { answerPlainCall, readPlainCall } from '../../../../../src/interfaces/platform/mcp/plain-call.ts'
import { compilePlatformTools } from '../../../../../src/interfaces/platform/mcp/platform-tools.ts'
import { createProtocolServer } from '../../../../../src/interfaces/platform/mcp/protocol-server.ts'
import { ownDocument } from '../../../../../src/interfaces/platform/openapi.ts'
import { ALL_OPERATIONS } from '../../../../../src/interfaces/platform/operations.ts'
import { createRandom } from '../../../../random.ts'
import { boom } from '../../../../fixtures/throwing.ts'

const STATELESS = '2026-07-28'
const KEY = 'io.modelcontextprotocol'
const INFO = { name: 'tollgate', title: 'Tollgate', version: '1.2.3' }
const MESSAGES = 3_000
const PLAIN_MIN = 300
const PROBLEM = { code: 'rate_limited', detail: 'Too many calls – wait.' }
/** Every part of a message, with the value of a valid one first. */
const PARTS = {
  version: [STATELESS, '2025-11-25', undefined, '2025-06-18', '2024-11-05', '2030-01-01', ' 2026-07-28', ''],
  sentMethod: ['tools/call', undefined, 'tools/list', 'Tools/Call'],
  sentName: ['list_consumers', undefined, '=?base64?bGlzdF9jb25zdW1lcnM=?=', '=?base64?bGlz?=', 'call_operation'],
  accept: ['application/json, text/event-stream', undefined, 'application/json', '*/*', 'text/event-stream'],
  id: [1, 'one', undefined, 0, -1, Number.MAX_SAFE_INTEGER],
  name: ['list_consumers', 'call_operation', 'nothing', undefined],
  args: [{}, undefined, { operation: 'listUsers' }, { operation: 'listUsers', arguments: {} }, { limit: 5 }, []],
  metaVersion: [STATELESS, undefined, '2025-11-25', 5],
  capabilities: [
    {},
    undefined,
    [],
    { extensions: {} },
    { roots: { listChanged: true } },
    { elicitation: { form: {} } },
  ],
  client: [{ name: 'test', version: '1' }, undefined, { name: 1 }, {}, { name: 'test', version: '1', title: 'T' }],
  progressToken: [undefined, 'token', 7],
  more: [undefined, { task: { ttl: 5 } }, { foo: 1 }, { inputResponses: {} }, { requestState: 'x' }],
}
/** The parts that are different in a valid message of an earlier revision. */
const EARLIER: Partial<Record<Part, unknown>> = {
  version: '2025-11-25',
  metaVersion: undefined,
  capabilities: undefined,
  client: undefined,
}
const tools = compilePlatformTools(ALL_OPERATIONS, ownDocument())
const answerBySdk = createProtocolServer({ sdk, info: INFO, onFault: boom })
const server = JSON.stringify(INFO)

type Part = keyof typeof PARTS

function exchangeWith(status: number): Exchange {
  return {
    caller: null as never,
    tools,
    permitted: boom,
    call: async (tool) => ({
      target: tool.operation.path,
      status,
      contentType: status < 400 ? 'application/json; charset=utf-8' : 'application/problem+json',
      contentEncoding: undefined,
      body: Buffer.from(JSON.stringify(status < 400 ? { items: ['ä'], next: null } : PROBLEM)),
      isCut: false,
      retryAfter: status < 400 ? null : '7',
      requestId: 'request',
      etag: status < 400 ? '"tag"' : null,
    }),
  }
}

function anyMessage(pick: (part: Part) => unknown): { message: Message; headers: Record<string, string> } {
  const sent = {
    'mcp-protocol-version': 'version',
    'mcp-method': 'sentMethod',
    'mcp-name': 'sentName',
    accept: 'accept',
  }
  const headers = Object.entries(sent).flatMap(([name, part]) => {
    const value = pick(part as Part)
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  const meta = {
    [`${KEY}/protocolVersion`]: pick('metaVersion'),
    [`${KEY}/clientCapabilities`]: pick('capabilities'),
    [`${KEY}/clientInfo`]: pick('client'),
    progressToken: pick('progressToken'),
  }
  const params = { name: pick('name'), arguments: pick('args'), _meta: meta, ...(pick('more') as object) }
  const body = { jsonrpc: '2.0', id: pick('id'), method: 'tools/call', params }
  const message = readMessage(Buffer.from(JSON.stringify(body)))
  if ('code' in message) throw new Error(message.text)
  return { message, headers: Object.fromEntries([['content-type', 'application/json'], ...headers]) }
}

it('agrees with the SDK about every message that it answers', async () => {
  const random = createRandom(20_261_123)
  const plainCalls = { stateless: 0, earlier: 0 }
  for (let n = 0; n < MESSAGES; n++) {
    const isEarlier = random.below(2) === 0
    const pick = (part: Part): unknown => {
      const values = PARTS[part]
      if (random.below(10) === 0) return values[random.below(values.length)]
      return isEarlier && part in EARLIER ? EARLIER[part] : values[0]
    }
    const { message, headers } = anyMessage(pick)
    const plain = readPlainCall(tools, message, headers)
    if (plain === null) continue
    plainCalls[plain.revision]++
    const exchange = exchangeWith(random.below(3) === 0 ? 429 : 200)
    const request = new Request('http://localhost/mcp', { method: 'POST', headers })
    const expected = await answerBySdk(request, message, exchange)
    expect({ status: expected.status, headers, message }).toMatchObject({ status: 200 })
    const answer = JSON.parse(await answerPlainCall(exchange, plain, server, boom)) as Fields
    expect(answer).toEqual(fieldsOf(await expected.json()))
  }
  expect(Math.min(plainCalls.stateless, plainCalls.earlier)).toBeGreaterThan(PLAIN_MIN)
})
