/**
 * The userinfo endpoint (OpenID Connect Core 1.0, 5.3): the person on whose behalf a token was issued. Accepts tokens of
 * this API that were requested with `openid`.
 */

import { bindingOf } from '../../boundary/plan/certificate-binding.ts'
import type { IssuedTokens } from './issued-token.ts'
import { answer, type OauthAnswer, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'

export interface Person {
  readonly id: string
  readonly username: string
  readonly name: string
  /** A sign-in or a code with an earlier epoch has ended. */
  readonly epoch: number
}

export interface UserinfoOptions {
  readonly tokens: IssuedTokens
  readonly personOf: (tenant: string, id: string) => Promise<Person | null>
}

const BEARER = /^bearer +(\S+)$/i

export function createUserinfo({ tokens, personOf }: UserinfoOptions): OauthEndpoint {
  return async ({ api, authorization, certificate }) => {
    if (authorization === undefined) return challenged(401, 'Bearer')
    const text = BEARER.exec(authorization)?.[1]
    const token = text === undefined ? null : await tokens.read(text, api)
    const live = token === null ? null : await tokens.live(token)
    if (live === null) return challenged(401, 'Bearer error="invalid_token"')
    const bound = bindingOf(live.token.cnf?.['x5t#S256'] ?? '', live.grant.certificateThumbprint)
    if (bound !== '' && bound !== certificate) return challenged(401, 'Bearer error="invalid_token"')
    if (live.token.openid !== true) return challenged(403, 'Bearer error="insufficient_scope", scope="openid"')
    const person = await personOf(live.grant.tenant, live.token.sub)
    if (person === null) return challenged(401, 'Bearer error="invalid_token"')
    return answer(200, { sub: person.id, name: person.name, preferred_username: person.username })
  }
}

/** The challenge carries the error (RFC 6750, 3). */
function challenged(status: number, challenge: string): OauthAnswer {
  return answer(status, null, { 'WWW-Authenticate': challenge })
}
