/** Requests to the OAuth endpoints of a service. Every answer is checked before use; no secret is in a message. */

import { CommandFailed, EXIT_NEGATIVE } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import { parseJson, send } from './http.ts'

export interface Tokens {
  readonly accessToken: string
  readonly expiresAtMs: number
  readonly refreshToken?: string
}

/** The endpoint answered with an error code (RFC 6749, 5.2). */
export class OauthRefused extends CommandFailed {
  readonly code: string

  constructor(code: string, description: string) {
    super(description, EXIT_NEGATIVE)
    this.code = code
  }
}

const API = 'platform-v1'
const DEFAULT_SECONDS = 300

export function issuerOf(gatewayUrl: string): string {
  return `${gatewayUrl}/${API}`
}

export async function requestTokens(gatewayUrl: string, form: Readonly<Record<string, string>>): Promise<Tokens> {
  const answer = await postForm(`${issuerOf(gatewayUrl)}/oauth2/v2/token`, form)
  const { access_token: accessToken, expires_in: seconds, refresh_token: refreshToken } = answer
  if (typeof accessToken !== 'string') throw new CommandFailed('The token endpoint answered without a token.')
  const validMs = (typeof seconds === 'number' && Number.isFinite(seconds) ? seconds : DEFAULT_SECONDS) * 1000
  return {
    accessToken,
    expiresAtMs: Date.now() + validMs,
    ...(typeof refreshToken === 'string' && { refreshToken }),
  }
}

/** Revokes a refresh token, which ends the sign-in, or an access token (RFC 7009). */
export async function revokeToken(gatewayUrl: string, form: Readonly<Record<string, string>>): Promise<void> {
  await postForm(`${issuerOf(gatewayUrl)}/oauth2/v2/revoke`, form)
}

/** Returns the fields of the answer; throws `OauthRefused` with the reason. */
export async function postForm(
  url: string,
  form: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await send(url, { method: 'POST', body: new URLSearchParams(form) })
  const found = parseJson(answer)
  const fields = typeof found === 'object' && found !== null ? (found as Readonly<Record<string, unknown>>) : {}
  if (answer.status < 300) return fields
  const { error, error_description: description, detail } = fields
  const reason = [description, detail, error].find((text) => typeof text === 'string') ?? `status ${answer.status}`
  throw new OauthRefused(
    typeof error === 'string' ? error : '',
    `The service refused the sign-in: ${toPlain(String(reason))}`,
  )
}

/** Claims of an access token, for display only: the signature is not checked. */
export function readClaims(accessToken: string): Readonly<Record<string, unknown>> {
  try {
    const [, payload = ''] = accessToken.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as unknown
    return typeof claims === 'object' && claims !== null ? (claims as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}
