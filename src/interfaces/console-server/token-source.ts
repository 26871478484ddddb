/** Tokens of the console from the token endpoint of this service, without a way through the network. */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { fieldsOf } from '../../foundation/json/fields.ts'
import type { OauthAnswer, OauthCall, OauthEndpoint, TokenKeeper } from '../../boundary/plan/oauth-call.ts'

export interface Tokens {
  readonly access: string
  readonly refresh: string
  readonly lifetimeMs: number
  readonly tenant: string
}

export interface CodeRequest {
  readonly clientId: string
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
}

/** A token request was not answered; it may be repeated. */
export class TokensUnavailable extends Error {}

export interface TokenSource {
  /** Returns null if the code gives no tokens. */
  redeem(request: CodeRequest): Promise<Tokens | null>
  /**
   * Uses the refresh token; `keeper` keeps the new tokens in the same commit. Returns null if the token gives no more, and 'changed' if
   * the keeper has other tokens by now. Throws `TokensUnavailable`.
   */
  renew(clientId: string, refreshToken: string, keeper: TokenKeeper): Promise<Tokens | 'changed' | null>
  /** Ends the refresh token, and the access tokens that it gave. */
  revoke(clientId: string, refreshToken: string): Promise<void>
}

const CHANGED = 409
const SERVER_ERROR_MIN = 500

export function createTokenSource(oauth: OauthEndpoint): TokenSource {
  const send = (
    endpoint: 'token' | 'revoke',
    form: OauthCall['form'],
    more: Pick<OauthCall, 'keeper'> = {},
  ): Promise<OauthAnswer> =>
    oauth({
      ...more,
      endpoint,
      api: PLATFORM_API,
      method: 'POST',
      form,
      authorization: undefined,
      cookie: undefined,
      address: '',
    })

  async function request(form: Readonly<Record<string, string>>): Promise<Tokens | null> {
    return toTokens(await send('token', Object.entries(form)))
  }

  function toTokens({ status, body }: OauthAnswer): Tokens | null {
    if (status >= SERVER_ERROR_MIN) throw new TokensUnavailable(`the token endpoint answered ${status}`)
    const { access_token: access, refresh_token: refresh, expires_in: seconds } = fieldsOf(body)
    if (status !== 200 || typeof access !== 'string' || typeof refresh !== 'string') return null
    return { access, refresh, lifetimeMs: Number(seconds) * 1_000, tenant: tenantOf(access) }
  }

  return {
    redeem: ({ clientId, code, verifier, redirectUri }) =>
      request({
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
      }),
    async renew(clientId, refreshToken, keeper) {
      const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }
      const answer = await send('token', Object.entries(form), { keeper })
      return answer.status === CHANGED ? 'changed' : toTokens(answer)
    },
    async revoke(clientId, refreshToken) {
      await send('revoke', Object.entries({ client_id: clientId, token: refreshToken }))
    },
  }
}

/** The token was issued by this service a moment ago. */
function tenantOf(token: string): string {
  const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return String(fieldsOf(claims)['tenant'])
}
