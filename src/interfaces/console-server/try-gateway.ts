/**
 * Sends a call that a person tries to the gateway of this process, and to nothing else.
 *
 * Each call has a connection of its own. Redirects are answers, bodies are not decoded, and what is longer than the bound is cut.
 */

import type { IncomingMessage } from 'node:http'
import { request } from '../../foundation/runtime/node-http.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { GatewayRequest } from './try-request.ts'

export interface GatewayAnswer {
  readonly status: number
  readonly durationMs: number
  /** Name and value, in the order in which they were sent. */
  readonly headers: readonly (readonly [string, string])[]
  /** Null: the body is no text. */
  readonly body: string | null
  /** Size of the part that was read. */
  readonly bodyBytes: number
  readonly isTruncated: boolean
  readonly requestId: string | null
}

export type SendToGateway = (request: GatewayRequest, token: string) => Promise<GatewayAnswer>

export interface TryGatewayOptions {
  readonly host: string
  readonly port: number
  /** The public address, which backends get as the host that was called. */
  readonly gatewayUrl: string
  readonly clock: Pick<Clock, 'nowMs'>
  /** Default: 15 seconds for the whole call. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 15_000
const ANSWER_BYTES_MAX = 256 * 1_024
const HEADER_BYTES_MAX = 16_384

/** Throws `Problem('upstream_timeout')` or `Problem('unavailable')`. */
export function createTryGateway({
  host,
  port,
  gatewayUrl,
  clock,
  timeoutMs = TIMEOUT_MS,
}: TryGatewayOptions): SendToGateway {
  const name = new URL(gatewayUrl).host
  return async (call, token) => {
    const startedMs = clock.nowMs()
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const { response, bytes, isTruncated } = await exchange(call, token, { host, port, name, signal })
      const { statusCode: status = 0, headers, rawHeaders } = response
      const id = headers['x-request-id']
      return {
        status,
        durationMs: clock.nowMs() - startedMs,
        headers: toPairs(rawHeaders),
        body: toText(bytes, isTruncated),
        bodyBytes: bytes.length,
        isTruncated,
        requestId: typeof id === 'string' ? id : null,
      }
    } catch (cause) {
      if (signal.aborted)
        throw new Problem('upstream_timeout', `The call took longer than ${timeoutMs / 1_000} seconds.`)
      throw new Problem('unavailable', 'The gateway did not answer the call.', { cause })
    }
  }
}

interface Exchange {
  readonly response: IncomingMessage
  readonly bytes: Buffer
  readonly isTruncated: boolean
}

interface To extends Pick<TryGatewayOptions, 'host' | 'port'> {
  readonly name: string
  readonly signal: AbortSignal
}

async function exchange(call: GatewayRequest, token: string, { host, port, name, signal }: To): Promise<Exchange> {
  const { method, path, headers, body } = call
  const length = body === null ? [] : ['Content-Length', String(body.length)]
  const sent = ['Host', name, 'Authorization', `Bearer ${token}`]
  const raw = [...sent, 'Accept-Encoding', 'identity', 'Connection', 'close', ...headers.flat(), ...length]
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { host, port, method, path, headers: raw, agent: false, maxHeaderSize: HEADER_BYTES_MAX, signal }
    const sending = request(options, resolve)
    // Also after the answer has begun: a signal that is aborted destroys the request with an error.
    sending.on('error', reject)
    // Without an error, if the answer switches to another protocol.
    sending.on('close', () => reject(new Error('the connection was closed before an answer')))
    sending.end(body ?? undefined)
  })
  return readBody(response)
}

async function readBody(response: IncomingMessage): Promise<Exchange> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    // Leaving the loop destroys the connection.
    if (size > ANSWER_BYTES_MAX) break
  }
  const isTruncated = size > ANSWER_BYTES_MAX
  return { response, bytes: Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX), isTruncated }
}

function toPairs(raw: readonly string[]): readonly (readonly [string, string])[] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []))
}

/** A text that was cut may end within a character. */
function toText(bytes: Buffer, isTruncated: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isTruncated })
  } catch {
    return null
  }
}
