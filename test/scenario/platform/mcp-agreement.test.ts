/**
 * The endpoints of an API and of the platform answer a message that no client should send in the same way. One that fails names a
 * difference that is known.
 */

import { describe, expect, it } from 'vitest'
import { openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'
import { openTestPlatform } from '../../fixtures/test-platform.ts'

type Case = readonly [name: string, message: string, headers?: Readonly<Record<string, string>>]

const toMessage = (method: string, params?: object | string): string => {
  const text = typeof params === 'object' ? JSON.stringify(params) : params
  return `{"jsonrpc":"2.0","id":1,"method":"${method}"${text === undefined ? '' : `,"params":${text}`}}`
}
const call = (args: string, more = ''): string => toMessage('tools/call', `{"name":"TOOL","arguments":${args}${more}}`)

const SAME: readonly Case[] = [
  ['a duplicate member', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}'],
  ['a duplicate member that is escaped', '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/list"}'],
  ['a byte order mark', `\ufeff${toMessage('ping')}`],
  ['two messages', toMessage('ping') + toMessage('ping')],
  ['a fraction as id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}'],
  ['an infinite id', '{"jsonrpc":"2.0","id":1e400,"method":"ping"}'],
  ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'],
  ['half a surrogate pair as method', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'],
  ['a request with a result', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}'],
  ['a message as prototype', '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}'],
  ['parameters as prototype', toMessage('tools/call', '{"__proto__":{"name":"TOOL","arguments":{}}}')],
  ['arguments as prototype', call('{"__proto__":{"limit":1}}')],
  ['arguments that are a list', call('[]')],
  ['an unknown argument', call('{"nope":1}')],
  ['the constructor as tool', toMessage('tools/call', '{"name":"constructor","arguments":{}}')],
  ['_meta that is a list', call('{}', ',"_meta":[]')],
  ['_meta that is null', call('{}', ',"_meta":null')],
  ['a progress token that is an object', call('{}', ',"_meta":{"progressToken":{}}')],
  ['a progress token that is a fraction', call('{}', ',"_meta":{"progressToken":1.5}')],
  ['a notification with an id', toMessage('notifications/cancelled', { requestId: 1 })],
  ['a content encoding', toMessage('ping'), { 'content-encoding': 'gzip' }],
]

const DIFFERENT: readonly Case[] = [
  ['a cursor of nowhere', toMessage('tools/list', { cursor: 'zzz' })],
  ['an unknown revision', toMessage('ping'), { 'mcp-protocol-version': '1999-01-01' }],
  ['a revision before the supported ones', toMessage('ping'), { 'mcp-protocol-version': '2024-11-05' }],
  ['initialize without parameters', toMessage('initialize')],
  ['a stream in an earlier revision', toMessage('subscriptions/listen')],
  ['one accepted type', toMessage('ping'), { accept: 'application/json' }],
]

interface Seen {
  readonly status: number
  readonly id: unknown
  readonly code: unknown
  readonly isError: unknown
}

function toSeen(status: number, text: string): Seen {
  const message = (text === '' ? {} : JSON.parse(text)) as Record<string, Record<string, unknown>>
  const { id, code = message['error']?.['code'], result } = message
  return { status, id, code, isError: result?.['isError'] }
}

async function askGateway(message: string, headers: Readonly<Record<string, string>>): Promise<Seen> {
  const origin = await openBackend((_, response) => void response.end())
  const paths = { '/a': { get: { operationId: 'a', responses: { 200: { description: 'ok' } } } } }
  const { port } = await openTestGateway({ backend: { origin }, paths, root: { 'x-tollgate-mcp': true } })
  const response = await fetch(`http://127.0.0.1:${port}/things-v1/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'key-s', ...headers },
    body: message.replace('TOOL', 'a'),
  })
  return toSeen(response.status, await response.text())
}

async function askPlatform(message: string, headers: Readonly<Record<string, string>>): Promise<Seen> {
  const platform = await openTestPlatform()
  const both = 'application/json, text/event-stream'
  const authorization = `Bearer ${platform.token('acme')}`
  const { statusCode, body } = await platform.server.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { 'content-type': 'application/json', accept: both, authorization, ...headers },
    payload: message.replace('TOOL', 'list_consumers'),
  })
  return toSeen(statusCode, body)
}

describe('both endpoints', () => {
  const complete = ([name, message, headers = {}]: Case) => [name, message, headers] as const
  const agree = async (_: string, message: string, headers: Readonly<Record<string, string>>): Promise<void> => {
    expect(await askPlatform(message, headers)).toEqual(await askGateway(message, headers))
  }

  it.each(SAME.map(complete))('answer %s in the same way', agree)

  it.fails.each(DIFFERENT.map(complete))('do not yet answer %s in the same way', agree)
})
