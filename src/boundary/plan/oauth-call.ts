/**
 * Requests and responses of OAuth endpoints without HTTP: a gateway thread reads the request, and the main
 * thread, which holds the keys, executes it.
 */

import type { Grant } from './grant.ts'

export interface OauthCall {
  readonly endpoint:
    | 'token'
    | 'introspect'
    | 'revoke'
    | 'userinfo'
    | 'authorize'
    | 'callback'
    | 'password'
    | 'device'
    | 'device_authorization'
    | 'register'
  /** `''` for the endpoints that serve all APIs. */
  readonly api: string
  /** The identity provider that a callback comes from. */
  readonly provider?: string
  readonly method: 'GET' | 'POST'
  /** The form of a POST or the query of a GET, in order, with repetitions. */
  readonly form: readonly (readonly [string, string])[]
  /** The body of a registration; null if it is not UTF-8. */
  readonly json?: string | null
  readonly authorization: string | undefined
  readonly cookie: string | undefined
  /** The address of the client, or of the last proxy before this service; `''` if unknown. */
  readonly address: string
  /** Thumbprint of the verified client certificate of the connection; missing if there is none. */
  readonly certificate?: string
  /** Set by a session of this process that keeps the tokens of a sign-in; a request from outside has none. */
  readonly keeper?: TokenKeeper
}

/**
 * Keeps a refresh token for a browser. The use of the token and what it gives are one commit, so that of several concurrent uses, on
 * one node or on several, one succeeds, and the others do not count as theft.
 */
export interface TokenKeeper {
  /** Whether the refresh token of the call is no longer the one that is kept. */
  hasChanged(): Promise<boolean>
  /** Returns the write that keeps the new tokens. It conflicts if the kept ones have changed. */
  writeOf(tokens: KeptTokens): KeeperWrite
}

export interface KeptTokens {
  readonly access: string
  readonly refresh: string
  readonly lifetimeMs: number
}

/** A write of the registry. */
export interface KeeperWrite {
  readonly kind: string
  readonly id: string
  readonly tenant: string
  readonly expected: number
  readonly body: unknown
}

export interface OauthAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A text is sent unchanged, null as an empty body, anything else as JSON. */
  readonly body: unknown
  /** How a failed attempt is recorded; null if it is not. */
  readonly signal: OauthSignal | null
}

export interface OauthSignal {
  /** The API of the record. */
  readonly api: string
  readonly outcome: 'credential_missing' | 'credential_invalid' | 'subscription_required'
  /** The attributed party; null if it is unknown. */
  readonly grant: Grant | null
}

export type OauthEndpoint = (call: OauthCall) => Promise<OauthAnswer>

export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): OauthAnswer {
  return { status, headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache', ...headers }, body, signal: null }
}

/** Returns an error response (RFC 6749, 5.2). */
export function refuse(error: string, description: string, status = 400): OauthAnswer {
  return answer(status, { error, error_description: description })
}

/** Returns the same response, to be recorded as a failed attempt. */
export function signalled(refused: OauthAnswer, signal: OauthSignal): OauthAnswer {
  return { ...refused, signal }
}
