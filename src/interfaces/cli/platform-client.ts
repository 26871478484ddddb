/**
 * A client of the platform API: a token from the token endpoint of `platform-v1`, renewed before it expires,
 * and JSON bodies.
 *
 * A status of 400 or above is thrown as an error with the text of the problem document.
 */

import { request } from 'undici'
import type { ServiceAddress } from './service-process.ts'

export interface Credential {
  readonly type: string
  readonly state: string
  readonly clientId: string
  readonly clientSecret: string
  readonly apiKey: string
}

export interface PlatformClient {
  get<T>(path: string): Promise<T>
  post<T>(path: string, body?: unknown): Promise<T>
  put<T>(path: string, body: unknown): Promise<T>
  delete(path: string): Promise<void>
  /** Returns a valid access token of the platform API. */
  token(): Promise<string>
}

export interface TokenRequest {
  readonly gatewayUrl: string
  readonly api: string
  readonly clientId: string
  readonly clientSecret: string
}

const RENEW_BEFORE_MS = 60_000
/** A command waits for all nodes, some of them twice. */
const TIMEOUT_MS = 60_000

export function createPlatformClient({ gatewayUrl, baseUrl, clientId, clientSecret }: ServiceAddress): PlatformClient {
  let held: { text: string; endsMs: number } | null = null

  async function token(): Promise<string> {
    if (held === null || performance.now() > held.endsMs - RENEW_BEFORE_MS) {
      const { accessToken, expiresIn } = await fetchToken({ gatewayUrl, api: 'platform-v1', clientId, clientSecret })
      held = { text: accessToken, endsMs: performance.now() + expiresIn * 1000 }
    }
    return held.text
  }

  async function send<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const response = await request(baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${await token()}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    })
    return (await readAnswer(response, `${method} ${path}`)) as T
  }

  return {
    token,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    delete: (path) => send('DELETE', path),
  }
}

/** Requests a token with client credentials at the token endpoint of `api` (RFC 6749, section 4.4). */
export async function fetchToken(options: TokenRequest): Promise<{ accessToken: string; expiresIn: number }> {
  const { gatewayUrl, api, clientId, clientSecret } = options
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const response = await request(`${gatewayUrl}/${api}/oauth2/v2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  })
  const answer = (await readAnswer(response, `token of ${api}`)) as { access_token: string; expires_in: number }
  return { accessToken: answer.access_token, expiresIn: answer.expires_in }
}

async function readAnswer(response: Awaited<ReturnType<typeof request>>, what: string): Promise<unknown> {
  const text = await response.body.text()
  if (response.statusCode >= 400) throw new Error(`${what} answered ${response.statusCode}: ${text.slice(0, 1_000)}`)
  return text === '' ? null : (JSON.parse(text) as unknown)
}
