/**
 * Sessions of people: logins whose token is still accepted.
 *
 * The service keeps the code of a login until the token that it gave has expired, so that the codes of a person list the sessions.
 */

import type { Session, Sessions } from '../access/people/sessions.ts'
import { listPage } from '../command/page.ts'
import { toTime } from '../command/commands.ts'
import type { Document, Registry } from '../store/registry.ts'
import { AUTHORIZATION_CODE_KIND, type CodeBody } from './authorization-codes.ts'

export type IsRevoked = (token: { readonly jti: string; readonly sub: string }) => boolean

export interface SessionsOptions {
  readonly registry: Registry
  readonly isRevoked: IsRevoked
  readonly clock: { nowMs(): number }
}

export function createSessions({ registry, isRevoked, clock }: SessionsOptions): Sessions {
  const isLive = ({ gave }: CodeBody, sub: string): boolean =>
    gave !== null && gave.expiresAtMs > clock.nowMs() && !isRevoked({ jti: gave.jti, sub })

  return {
    async list(tenant, person, query) {
      const page = await listPage({
        registry,
        kind: AUTHORIZATION_CODE_KIND,
        tenant,
        query,
        where: { person },
        show: (code) => (isLive(code.body, person) ? toSession(code) : null),
      })
      return { ...page, items: page.items.filter((session) => session !== null) }
    },
  }
}

function toSession({ id, body }: Document<CodeBody>): Session {
  const { clientId, api, loggedInAtMs, gave } = body
  return {
    // The id of the code without its kind: it opens nothing.
    id: `ses_${id.slice(id.indexOf('_') + 1)}`,
    clientId,
    api: api === '' ? null : api,
    loggedInAt: toTime(loggedInAtMs),
    expiresAt: toTime(gave?.expiresAtMs ?? loggedInAtMs),
  }
}
