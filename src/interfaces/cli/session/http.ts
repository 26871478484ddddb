/** Requests without redirects and with a time limit; a connection that fails is explained in one sentence. */

import { CommandFailed } from '../exit-codes.ts'

const TIMEOUT_MS = 15_000
const BODY_BYTES_MAX = 256 * 1024 * 1024

export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

export async function send(url: string, init: RequestInit = {}, timeoutMs = TIMEOUT_MS): Promise<HttpAnswer> {
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(init.signal ? [init.signal] : [])])
    const response = await fetch(url, { ...init, redirect: 'manual', signal })
    return { status: response.status, headers: response.headers, body: await readBody(response) }
  } catch (cause) {
    if (cause instanceof CommandFailed) throw cause
    throw new CommandFailed(`${originOf(url)} cannot be reached: ${reasonOf(cause)}`)
  }
}

/** Returns undefined if the text is no JSON. */
export function parseJson({ body }: Pick<HttpAnswer, 'body'>): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/** Returns the address without a slash at its end; throws if it is no http address. */
export function checkAddress(address: string, source: string): string {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new CommandFailed(`${source} must be an http or https address such as https://platform.example.`)
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new CommandFailed('The answer is larger than 256 MB.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function reasonOf(cause: unknown): string {
  const error = cause as { name?: string; message?: string; cause?: { message?: string; code?: string } }
  if (error.name === 'TimeoutError') return 'no answer in time'
  // A failed connection to several addresses has a code and no message.
  return error.cause?.message || error.cause?.code || error.message || 'unknown reason'
}

function originOf(url: string): string {
  return new URL(url).origin
}
