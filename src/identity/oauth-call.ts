/** The endpoints as the main thread has them, and how they answer. */

import type { OauthAnswer, OauthCall, OauthSignal } from '../plan/oauth-call.ts'

export type { OauthAnswer, OauthCall, OauthSignal } from '../plan/oauth-call.ts'

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
