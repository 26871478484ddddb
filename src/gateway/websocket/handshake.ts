/**
 * The opening handshake (RFC 6455, section 4), which the gateway makes with the client and with the backend.
 *
 * Extensions are offered to neither side: compressed messages could not be counted or bounded.
 */

import { createHash, randomBytes } from 'node:crypto'
import type { ClientRequest } from '../connection/client.ts'
import { isToken } from '../connection/header-lines.ts'
import { HeaderMemo } from '../connection/header-memo.ts'
import type { HeaderRules } from '../headers/header-rules.ts'
import type { RequestHeaders } from '../headers/upstream-request.ts'
import { comparedName } from '../../boundary/plan/header-names.ts'
import { readResponseHead } from '../headers/upstream-response.ts'

export interface Handshake {
  /** Answer to the key of the client. */
  readonly accept: string
  /** Subprotocols that the client offers. */
  readonly protocols: readonly string[]
  /** Lines for the backend. */
  readonly lines: string
  /** Answer that the backend owes to the key of the gateway. */
  readonly backendAccept: string
}

export interface HandshakeFault {
  readonly code: 'upgrade_required' | 'payload_invalid'
  readonly detail: string
  /** Name, value, … of the refusal. */
  readonly headers: readonly string[]
}

/** Appended to a key before it is hashed (section 1.3). */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/
const PREFIX = 'sec-websocket-'
const SUPPORTED = ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13']

/** Reads the handshake of a client, or why it is refused. */
export function readHandshake(request: ClientRequest, headers: RequestHeaders): Handshake | HandshakeFault {
  const raw = request.rawHeaders
  if (!tokensOf(raw, 'upgrade').includes('websocket'))
    return required('This operation is a WebSocket; ask for an upgrade.')
  if (!tokensOf(raw, 'connection').includes('upgrade')) return invalid('Connection must name Upgrade.')
  if (request.httpVersionMajor !== 1 || request.httpVersionMinor < 1) return required('A WebSocket needs HTTP/1.1.')
  const [version, ...otherVersions] = valuesOf(raw, 'sec-websocket-version')
  if (version !== '13' || otherVersions.length > 0) return required('Sec-WebSocket-Version must be 13.')
  const [key = '', ...otherKeys] = valuesOf(raw, 'sec-websocket-key')
  if (!KEY.test(key) || otherKeys.length > 0) return invalid('Sec-WebSocket-Key must be 16 bytes in base64, once.')
  if (headers.isChunked || headers.contentLength > 0) return invalid('The handshake of a WebSocket has no body.')
  const protocols = listOf(raw, 'sec-websocket-protocol')
  if (!protocols.every(isToken) || new Set(protocols).size < protocols.length) {
    return invalid('Sec-WebSocket-Protocol must list different tokens.')
  }
  const ownKey = randomBytes(16).toString('base64')
  const offered = protocols.length === 0 ? '' : `Sec-WebSocket-Protocol: ${protocols.join(', ')}\r\n`
  return {
    accept: acceptFor(key),
    protocols,
    lines: `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${ownKey}\r\n${offered}`,
    backendAccept: acceptFor(ownKey),
  }
}

/** Returns the lines of the response to the client; null if the response of the backend is no answer to the handshake. */
export function answerHandshake(
  { accept, protocols, backendAccept }: Handshake,
  raw: readonly string[],
  rules: HeaderRules,
): string | null {
  const [answer, ...others] = valuesOf(raw, 'sec-websocket-accept')
  const [upgrade, ...moreUpgrades] = listOf(raw, 'upgrade')
  const [protocol, ...moreProtocols] = valuesOf(raw, 'sec-websocket-protocol')
  if (answer !== backendAccept || upgrade?.toLowerCase() !== 'websocket') return null
  if (others.length + moreUpgrades.length + moreProtocols.length > 0) return null
  if (valuesOf(raw, 'sec-websocket-extensions').length > 0) return null
  if (protocol !== undefined && !protocols.includes(protocol)) return null
  const { lines } = readResponseHead(101, new HeaderMemo(withoutHandshake(raw)), rules)
  const chosen = protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`
  return `${lines}Sec-WebSocket-Accept: ${accept}\r\n${chosen}`
}

/** Returns the other headers. */
export function withoutHandshake(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    if (!comparedName(name).startsWith(PREFIX)) kept.push(name, headers[index + 1]!)
  }
  return kept
}

function acceptFor(key: string): string {
  return createHash('sha1')
    .update(key + GUID)
    .digest('base64')
}

function required(detail: string): HandshakeFault {
  return { code: 'upgrade_required', detail, headers: SUPPORTED }
}

function invalid(detail: string): HandshakeFault {
  return { code: 'payload_invalid', detail, headers: [] }
}

function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]!.toLowerCase() === name) values.push(raw[index + 1]!.trim())
  }
  return values
}

/** Returns the members of a list, which may be spread over several headers. */
function listOf(raw: readonly string[], name: string): string[] {
  const values = valuesOf(raw, name)
  return values.length === 0
    ? []
    : values
        .join(',')
        .split(',')
        .map((value) => value.trim())
}

function tokensOf(raw: readonly string[], name: string): string[] {
  return listOf(raw, name).map((value) => value.toLowerCase())
}
