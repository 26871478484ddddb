/**
 * Requests and responses of OAuth endpoints without HTTP: a gateway thread reads the request, and the main
 * thread, which holds the keys, answers it.
 */

import type { Grant } from './grant.ts'

export interface OauthCall {
  readonly endpoint: 'token' | 'introspect' | 'revoke' | 'userinfo' | 'authorize'
  /** `''` for the authorize endpoint, which serves all APIs. */
  readonly api: string
  readonly method: 'GET' | 'POST'
  /** The form of a POST, the query of a GET; in order, as often as they came. */
  readonly form: readonly (readonly [string, string])[]
  readonly authorization: string | undefined
  readonly cookie: string | undefined
}

export interface OauthAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A text is sent as it is, anything else as JSON, null as an empty body. */
  readonly body: unknown
  /** How a failed attempt is recorded; null: not at all. */
  readonly signal: OauthSignal | null
}

export interface OauthSignal {
  /** The API it is recorded at. */
  readonly api: string
  readonly outcome: 'credential_missing' | 'credential_invalid' | 'subscription_required'
  /** The known party; null: nobody is known. */
  readonly grant: Grant | null
}

export type OauthEndpoint = (call: OauthCall) => Promise<OauthAnswer>

export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): OauthAnswer {
  return { status, headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache', ...headers }, body, signal: null }
}

/** An error as RFC 6749, 5.2, spells it. */
export function refuse(error: string, description: string, status = 400): OauthAnswer {
  return answer(status, { error, error_description: description })
}

/** The same answer, to be recorded as a failed attempt. */
export function signalled(refused: OauthAnswer, signal: OauthSignal): OauthAnswer {
  return { ...refused, signal }
}
