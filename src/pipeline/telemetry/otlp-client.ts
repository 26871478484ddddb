/**
 * Sends OTLP requests over HTTP.
 *
 * A request ends within its time limit, whatever the collector does, and at most 64 KiB of an answer are read. Redirects are not
 * followed: they could carry the headers, which may be credentials, to another server. Reasons of failures quote neither headers nor
 * answers.
 */

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Agent, request, type Dispatcher } from 'undici'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { SignalConfig } from './telemetry-settings.ts'

export type OtlpAnswer =
  | { readonly outcome: 'accepted'; readonly body: Uint8Array }
  | { readonly outcome: 'failed'; readonly reason: string }
  | { readonly outcome: 'later'; readonly reason: string; readonly afterMs: number | null }

export interface OtlpClient {
  post(bytes: Uint8Array, withinMs: number, signal: AbortSignal): Promise<OtlpAnswer>
  close(): Promise<void>
}

const ANSWER_BYTES_MAX = 64 * 1024
/** By the specification of OTLP; every other error is final. */
const RETRYABLE = new Set([429, 502, 503, 504])
const RETRY_AFTER_MAX_MS = 60_000

const compress = promisify(gzip)

export function createOtlpClient(config: SignalConfig, clock: Pick<Clock, 'after'>, userAgent: string): OtlpClient {
  const dispatcher = new Agent({ connections: 1, pipelining: 1, connect: { ...config.tls } })
  const headers = {
    'user-agent': userAgent,
    ...config.headers,
    'content-type': config.format === 'json' ? 'application/json' : 'application/x-protobuf',
    ...(config.isCompressed && { 'content-encoding': 'gzip' }),
  }

  return {
    async post(bytes, withinMs, signal) {
      const deadline = new AbortController()
      const cancel = clock.after(Math.min(withinMs, config.timeoutMs), () => deadline.abort())
      try {
        const body = config.isCompressed ? await compress(bytes) : bytes
        const options = {
          method: 'POST',
          headers,
          body,
          dispatcher,
          signal: AbortSignal.any([signal, deadline.signal]),
        } as const
        return await readAnswer(await request(config.url, options))
      } catch (cause) {
        const reason = deadline.signal.aborted ? 'no answer in time' : reasonOf(cause)
        return { outcome: 'later', reason, afterMs: null }
      } finally {
        cancel()
      }
    },
    close: () => dispatcher.destroy(),
  }
}

async function readAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<OtlpAnswer> {
  const reason = `status ${statusCode}`
  if (statusCode < 200 || statusCode > 299) {
    body.on('error', () => {}).destroy()
    if (!RETRYABLE.has(statusCode)) return { outcome: 'failed', reason }
    return { outcome: 'later', reason, afterMs: readRetryAfter(headers['retry-after']) }
  }
  return { outcome: 'accepted', body: await readBody(body) }
}

/** The status says that the collector has taken the batch: a body that is too long or breaks off must not cause it to be sent again. */
async function readBody(body: AsyncIterable<Buffer>): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of body) {
      length += chunk.length
      if (length > ANSWER_BYTES_MAX) return new Uint8Array()
      chunks.push(chunk)
    }
  } catch {
    return new Uint8Array()
  }
  return Buffer.concat(chunks)
}

function readRetryAfter(value: string | string[] | undefined): number | null {
  return typeof value === 'string' && /^\d{1,6}$/.test(value)
    ? Math.min(Number(value) * 1_000, RETRY_AFTER_MAX_MS)
    : null
}

function reasonOf(cause: unknown): string {
  const { code, name } = cause as { readonly code?: unknown; readonly name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'error'
}
