/**
 * HTTP requests to addresses that customers name, such as the keys of an issuer or a webhook target.
 *
 * Connects by https to the ports 443 and 8443 of public addresses only (`url-guard.ts`, `guarded-lookup.ts`), unless the
 * deployment allows private addresses. Returns redirects like any other response and never follows them. One time limit
 * covers the whole exchange, and one size limit the response; exceeding either closes the connection. Failures are
 * expected, so they are return values.
 */

import type { Agent } from 'undici'
import type { Clock } from '../runtime/clock.ts'
import { isPublicAddress } from './address-guard.ts'
import { AddressRefused, createGuardedLookup, systemResolve, type Resolve } from './guarded-lookup.ts'
import { loadUndici } from './load-undici.ts'
import { refuseUrl } from './url-guard.ts'

export interface OutboundRequest {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  /** With names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly timeoutMs: number
  readonly bytesMax: number
  /** Returns the beginning of a response that is too long or too slow, instead of a failure. */
  readonly allowTruncated?: boolean
}

export type OutboundResult = OutboundAnswer | OutboundFailure

export interface OutboundAnswer {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export interface OutboundFailure {
  readonly kind: 'failed'
  readonly reason: 'url_refused' | 'address_refused' | 'timed_out' | 'too_large' | 'unreachable'
  /** Shown to the customer who named the address; reveals nothing about the network of this service. */
  readonly detail: string
}

export interface GuardedFetch {
  fetch(request: OutboundRequest): Promise<OutboundResult>
  close(): Promise<void>
}

export interface GuardedFetchOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Allows private addresses, plain http and any port, for tests and closed networks. */
  readonly allowPrivate: boolean
  readonly resolve?: Resolve
  /** Connections to one origin. Further requests queue, and their time limit includes the time in the queue. */
  readonly connectionsMax?: number
}

const CONNECTIONS_MAX = 8
const CONNECT_WITHIN_MS = 5_000

export function createGuardedFetch({
  clock,
  allowPrivate,
  resolve = systemResolve,
  connectionsMax = CONNECTIONS_MAX,
}: GuardedFetchOptions): GuardedFetch {
  const isAllowed = (address: string): boolean => allowPrivate || isPublicAddress(address)
  let agent: Agent | null = null
  const openAgent = (): Agent =>
    (agent ??= new (loadUndici().Agent)({
      connect: { lookup: createGuardedLookup(resolve, isAllowed), timeout: CONNECT_WITHIN_MS },
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
    }))

  return {
    async fetch(request) {
      const refused = refuseUrl(request.url, { allowPrivate })
      if (refused !== null) return failed('url_refused', refused)
      const limit = new AbortController()
      let soFar: (() => OutboundAnswer) | null = null
      const { promise: late, resolve: giveUp } = Promise.withResolvers<OutboundResult>()
      const cancel = clock.after(request.timeoutMs, () => {
        const isEnough = request.allowTruncated === true && soFar !== null
        giveUp(isEnough ? soFar!() : failed('timed_out', `No complete response within ${request.timeoutMs} ms.`))
        limit.abort()
      })
      try {
        const onHead = (answer: () => OutboundAnswer): void => {
          soFar = answer
        }
        // undici handles the abort only once it is connected, hence the race.
        return await Promise.race([late, exchange(openAgent(), request, limit.signal, onHead)])
      } catch (cause) {
        if (cause instanceof AddressRefused)
          return failed('address_refused', 'The host must resolve to public addresses only.')
        // The connection broke after the response head.
        const partial = soFar as (() => OutboundAnswer) | null
        if (request.allowTruncated === true && partial !== null) return partial()
        return failed('unreachable', `The host could not be reached${codeOf(cause)}.`)
      } finally {
        cancel()
      }
    },
    close: async () => agent?.destroy(),
  }
}

/** Calls `onHead` when the response head has arrived; its argument returns the response so far. */
async function exchange(
  agent: Agent,
  request: OutboundRequest,
  signal: AbortSignal,
  onHead: (answer: () => OutboundAnswer) => void,
): Promise<OutboundResult> {
  const { url, method = 'GET', headers = {}, body = null, bytesMax, allowTruncated = false } = request
  const { origin, pathname, search } = new URL(url)
  const answer = await agent.request({ origin, path: pathname + search, method, headers, body, signal })
  const chunks: Buffer[] = []
  let bytes = 0
  const soFar = (): OutboundAnswer => ({
    kind: 'answered',
    status: answer.statusCode,
    headers: answer.headers,
    body: Buffer.concat(chunks),
  })
  onHead(soFar)
  for await (const chunk of answer.body) {
    bytes += (chunk as Buffer).length
    // Leaving the loop closes the connection.
    if (bytes > bytesMax)
      return allowTruncated ? soFar() : failed('too_large', `The response has more than ${bytesMax} bytes.`)
    chunks.push(chunk as Buffer)
  }
  return soFar()
}

function failed(reason: OutboundFailure['reason'], detail: string): OutboundFailure {
  return { kind: 'failed', reason, detail }
}

function codeOf(cause: unknown): string {
  const code = (cause as { code?: unknown } | null)?.code
  return typeof code === 'string' ? ` (${code})` : ''
}
