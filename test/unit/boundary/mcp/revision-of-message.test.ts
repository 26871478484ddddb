import { describe, expect, it } from 'vitest'
import { negotiate, readRevision } from '../../../../src/boundary/mcp/revision-of-message.ts'

const VERSION = '2026-07-28'
const meta = (more: object = {}) => ({
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  ...more,
})
const call = (name: string, _meta: object = meta()) => ({ id: 1, method: 'tools/call', params: { name, _meta } })
const headers = (more: Record<string, string> = {}) => ({
  'mcp-protocol-version': VERSION,
  'mcp-method': 'tools/call',
  'mcp-name': 'add',
  ...more,
})

describe('the revision of a message', () => {
  it.each([
    ['its name', 'add', headers()],
    ['its name in base64', 'größe', headers({ 'mcp-name': `=?base64?${Buffer.from('größe').toString('base64')}?=` })],
  ])('is the stateless one if the headers repeat %s', (_, name, sent) => {
    expect(readRevision(call(name), sent)).toBe('stateless')
  })

  it.each([
    ['another name', call('sub'), headers(), -32_020],
    ['broken base64', call('add'), headers({ 'mcp-name': '=?base64?%%%?=' }), -32_020],
    ['another method', call('add'), headers({ 'mcp-method': 'tools/list' }), -32_020],
    ['another version', call('add'), headers({ 'mcp-protocol-version': '2025-11-25' }), -32_020],
    ['no headers', call('add'), {}, -32_020],
    ['no capabilities', call('add', { 'io.modelcontextprotocol/protocolVersion': VERSION }), headers(), -32_602],
    ['a client that is no object', call('add', meta({ 'io.modelcontextprotocol/clientInfo': 1 })), headers(), -32_602],
    [
      'an unknown version',
      call('add', meta({ 'io.modelcontextprotocol/protocolVersion': '2099-01-01' })),
      headers({ 'mcp-protocol-version': '2099-01-01' }),
      -32_022,
    ],
  ])('is a fault for %s', (_, message, sent, code) => {
    expect(readRevision(message, sent)).toMatchObject({ status: 400, id: 1, code })
  })

  it.each([
    ['_meta that is a list', []],
    ['_meta that is null', null],
    ['a progress token that is an object', { progressToken: {} }],
    ['a progress token that is a fraction', { progressToken: 1.5 }],
  ])('is a fault for %s, in each revision', (_, _meta) => {
    const message = { id: 1, method: 'tools/call', params: { name: 'add', _meta } }
    expect(readRevision(message, {})).toMatchObject({ status: 200, id: 1, code: -32_602 })
    expect(readRevision(message, headers())).toMatchObject({ status: 400, id: 1, code: -32_602 })
  })

  it('is an earlier one without _meta, which initialize agrees on', () => {
    expect(readRevision({ id: 1, method: 'ping', params: {} }, {})).toBe('earlier')
    expect([negotiate('2025-06-18'), negotiate('2030-01-01'), negotiate(1)]).toEqual([
      '2025-06-18',
      '2025-11-25',
      '2025-11-25',
    ])
  })
})
