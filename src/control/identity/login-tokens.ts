/**
 * Issues the tokens of a sign-in that a person has just allowed: the access token, and the refresh and ID token if the client gets
 * them.
 *
 * The caller uses up the code of the sign-in in the same commit that creates the refresh grant, so that a code gives either all of its
 * tokens or none.
 */

import type { GrantPerson } from '../access/people/person-grants.ts'
import { entitledTo, isSubscribed, type AccessTokenRequest, type MintAccessToken } from './access-token.ts'
import type { GivenToken } from './authorization-codes.ts'
import type { MintIdToken } from './id-token.ts'
import { isSharedClient } from '../../boundary/plan/grant.ts'
import type { OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import type { RefreshGrants } from './refresh-grants.ts'
import { bearer, tooLong, unsubscribed, type Login, type TokenRequest } from './token-grants.ts'
import type { Write } from '../../storage/store/registry.ts'

export interface LoginTokensOptions {
  readonly mint: MintAccessToken
  readonly mintIdToken: MintIdToken
  readonly refreshGrants: Pick<RefreshGrants, 'begin' | 'end' | 'trim'>
  readonly grantPerson: GrantPerson
}

/** Uses up the code of the sign-in; returns false if it is no longer valid. `grant` is the id of the refresh grant that begins. */
export type UseCode = (gives: GivenToken, writes: readonly Write[]) => Promise<boolean>

/** Returns null if the person may no longer use the sign-in, or the code is no longer valid. */
export type IssueLogin = (request: TokenRequest, login: Login, useCode: UseCode) => Promise<OauthAnswer | null>

export function createLoginTokens(options: LoginTokensOptions): IssueLogin {
  const { mint, mintIdToken, refreshGrants, grantPerson } = options

  return async ({ api, target, client, certificate }, login, useCode) => {
    const { clientId, mayRefresh } = client
    const { tenant, scope, person, wantsIdToken, loggedInAtMs } = login
    const granted = await grantPerson({ client: client.grant, tenant, api, person })
    if (granted === null) return null
    if (granted === 'unsubscribed' || !isSubscribed(granted.grant, api, target)) return unsubscribed(api)
    const { grant } = granted
    const entitled = entitledTo(target, granted.scopes)
    const opensUserinfo = wantsIdToken
    const { revocation } = granted
    const subject = { id: person.id, revocation }
    const request: AccessTokenRequest = {
      api,
      target: entitled,
      grant,
      clientId,
      scope,
      person: subject,
      opensUserinfo,
      certificate,
    }
    const token = mint(request)
    if (token === null) return tooLong()
    const gives = { jti: token.jti, expiresAtMs: token.expiresAtMs, revocation }
    // The tokens of a shared client are bounded per person.
    const credential = isSharedClient(client.grant) ? person.id : grant.credential
    const kept = {
      ...{ tenant, credential, clientId, api, person, scope: token.scope, opensUserinfo, loggedInAtMs },
      // A client with a secret proves itself by the secret (RFC 8705, 4).
      ...(client.isPublic && certificate !== undefined && { certificate }),
    }
    const refresh = mayRefresh ? refreshGrants.begin(kept, gives) : null
    const used =
      refresh === null ? await useCode(gives, []) : await useCode({ ...gives, grant: refresh.id }, [refresh.write])
    if (!used) return null
    if (!granted.isCurrent()) {
      if (refresh !== null) await refreshGrants.end({ tenant, consumer: 'system' }, refresh.id)
      return null
    }
    if (refresh !== null) await refreshGrants.trim(kept)
    const algorithm = target.tokenAlgorithm ?? 'ES256'
    return bearer(token, {
      ...(refresh !== null && { refresh_token: refresh.text }),
      ...(wantsIdToken && { id_token: mintIdToken({ api, login, accessToken: token.text, algorithm }) }),
    })
  }
}
