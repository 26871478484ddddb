/**
 * The revision of the protocol that a message uses, and the headers that must agree with the message.
 *
 * In revision 2026-07-28 every request names its revision in `params._meta`, and repeats it, its method and the name of its tool
 * in headers. Other messages use an earlier revision, which clients choose with `initialize`.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, type Message, type MessageFault } from './message.ts'

const STATELESS = '2026-07-28'
/** The newest first. */
const EARLIER = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
export const SUPPORTED: readonly string[] = [STATELESS, EARLIER[0]]

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'
const CLIENT_KEY = 'io.modelcontextprotocol/clientInfo'
const BASE64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

export type ProtocolRevision = 'stateless' | 'earlier'

export function readRevision(message: Message, headers: IncomingHttpHeaders): ProtocolRevision | MessageFault {
  const meta = fieldsOf(message.params['_meta'])
  const header = textOf(headers['mcp-protocol-version'])
  const isStateless = header === STATELESS
  const metaFault = checkMeta(message, meta, isStateless)
  if (metaFault !== null) return metaFault
  if (!Object.hasOwn(meta, VERSION_KEY)) {
    if (!isStateless) return checkEarlier(message, header)
    if (message.id === null) return checkNames(message, headers, false) ?? 'stateless'
    if (message.method === 'initialize') return mismatch(message, `initialize belongs to revisions before ${STATELESS}`)
    return badEnvelope(message, `\`params._meta\` lacks ${VERSION_KEY}.`)
  }
  const fault = checkEnvelope(message, meta)
  if (fault !== null) return fault
  const version = meta[VERSION_KEY] as string
  if (header !== undefined && header !== version) return mismatch(message, `MCP-Protocol-Version is not ${version}`)
  if (version !== STATELESS) return unsupported(message, version)
  if (header === undefined && message.id !== null) return mismatch(message, 'MCP-Protocol-Version is missing')
  return checkNames(message, headers, message.id !== null) ?? 'stateless'
}

/** Returns the revision for a client that proposes one in `initialize`. */
export function negotiate(proposed: unknown): string {
  return EARLIER.find((version) => version === proposed) ?? EARLIER[0]
}

/** Clients of each revision may send `_meta`, with a token by which they want to follow the progress. */
function checkMeta({ id, params }: Message, meta: Fields, isStateless: boolean): MessageFault | null {
  const fault = (text: string): MessageFault => ({ status: isStateless ? 400 : 200, id, code: INVALID_PARAMS, text })
  if (params['_meta'] !== undefined && params['_meta'] !== meta) return fault('`_meta` must be an object.')
  const token = meta['progressToken']
  const isToken = token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
  return isToken ? null : fault('`progressToken` must be a string or an integer.')
}

function checkEarlier(message: Message, header: string | undefined): 'earlier' | MessageFault {
  const isKnown = header === undefined || EARLIER.some((version) => version === header)
  return isKnown || message.method === 'initialize' ? 'earlier' : unsupported(message, header)
}

function checkEnvelope(message: Message, meta: Fields): MessageFault | null {
  const capabilities = meta[CAPABILITIES_KEY]
  const client = meta[CLIENT_KEY]
  if (typeof meta[VERSION_KEY] !== 'string') return badEnvelope(message, `${VERSION_KEY} must be a string.`)
  if (message.id === null && capabilities === undefined) return null
  if (capabilities === undefined) return badEnvelope(message, `\`params._meta\` lacks ${CAPABILITIES_KEY}.`)
  if (fieldsOf(capabilities) !== capabilities) return badEnvelope(message, `${CAPABILITIES_KEY} must be an object.`)
  const { name, version } = fieldsOf(client)
  if (client === undefined || (typeof name === 'string' && typeof version === 'string')) return null
  return badEnvelope(message, `${CLIENT_KEY} must be an object with \`name\` and \`version\`.`)
}

/** Compares `Mcp-Method` and `Mcp-Name` with the message. */
function checkNames(message: Message, headers: IncomingHttpHeaders, isRequired: boolean): MessageFault | null {
  const { method, params } = message
  const sentMethod = textOf(headers['mcp-method'])
  if (sentMethod === undefined ? isRequired : sentMethod !== method)
    return mismatch(message, `Mcp-Method is not ${method}`)
  if (method !== 'tools/call' || typeof params['name'] !== 'string') return null
  const sentName = textOf(headers['mcp-name'])
  if (sentName === undefined || decode(sentName) !== params['name'])
    return mismatch(message, 'Mcp-Name is not the name of the tool')
  return null
}

/** Returns null if the value is not valid base64 of UTF-8. */
function decode(value: string): string | null {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value
  const encoded = BASE64.exec(value)?.[1]
  if (encoded === undefined || encoded.length % 4 !== 0) return null
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : null
}

function mismatch({ id }: Message, why: string): MessageFault {
  return { status: 400, id, code: HEADER_MISMATCH, text: `The headers do not agree with the message: ${why}.` }
}

function badEnvelope({ id }: Message, text: string): MessageFault {
  return { status: 400, id, code: INVALID_PARAMS, text }
}

function unsupported({ id }: Message, requested: string | undefined): MessageFault {
  const text = 'The service does not support this revision of the protocol.'
  const data = { supported: SUPPORTED, requested: (requested ?? '').slice(0, 64) }
  return { status: 400, id, code: UNSUPPORTED_VERSION, text, data }
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value?.trim()
}
