/**
 * Sessions of people: sign-ins from which a client still has access.
 *
 * A sign-in with a refresh token is a refresh grant. The service keeps the code of any other sign-in until the token that it gave has
 * expired. Their number is bounded by the grants of each client and by the sign-ins of an hour, so that a list reads all of them.
 */

import type { Session, Sessions } from '../access/people/sessions.ts'
import { USER_KIND } from '../access/people/user-document.ts'
import { fromCursor, listAll, toCursor } from '../command/page.ts'
import { notFound, toTime } from '../command/commands.ts'
import { REVOCATION_CLAIM } from '../../boundary/plan/gateway-port.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import { AUTHORIZATION_CODE_KIND, type CodeBody, type GivenToken } from './authorization-codes.ts'
import { expiryOfGrant, REFRESH_GRANT_KIND, type RefreshGrantBody, type RefreshGrants } from './refresh-grants.ts'

export type IsRevoked = (token: {
  readonly jti: string
  readonly sub: string
  readonly [REVOCATION_CLAIM]?: string
}) => boolean

export interface SessionsOptions {
  readonly registry: Registry
  readonly refreshGrants: Pick<RefreshGrants, 'end'>
  readonly isRevoked: IsRevoked
  /** Resolves when every gateway thread refuses the token. */
  readonly revoke: (token: GivenToken & { readonly tenant: string; readonly credential: string }) => Promise<void>
  readonly clock: { nowMs(): number }
}

/** A session and the document that it is made from. */
interface FoundSession {
  readonly session: Session
  end(author: Author): Promise<void>
}

export function createSessions(options: SessionsOptions): Sessions {
  /** Returns the live sessions in the order of their ids, which is that of the sign-ins. */
  async function findAll(tenant: string, person: string): Promise<readonly FoundSession[]> {
    const found = [...(await grantsOf(options, tenant, person)), ...(await codesOf(options, tenant, person))]
    return found.sort((a, b) => (a.session.id < b.session.id ? -1 : 1))
  }

  return {
    async list(tenant, person, { limit, cursor }) {
      const after = cursor === undefined ? '' : fromCursor(cursor)
      const all = (await findAll(tenant, person)).map(({ session }) => session).filter(({ id }) => id > after)
      const items = all.slice(0, limit)
      return { items, next: all.length > limit ? toCursor(items.at(-1)?.id ?? '') : null }
    },
    async end(author, person, id) {
      const found = (await findAll(author.tenant, person)).find(({ session }) => session.id === id)
      if (found === undefined) throw notFound('session', id)
      await found.end(author)
    },
  }
}

/** A grant of an earlier epoch gives no more tokens, so that it is no session. */
async function grantsOf(
  { registry, clock, refreshGrants }: SessionsOptions,
  tenant: string,
  person: string,
): Promise<readonly FoundSession[]> {
  const found: FoundSession[] = []
  const user = await registry.get(USER_KIND, person)
  if (user === null || user.body.disabled === true) return found
  const { epoch = 0 } = user.body
  for await (const { id, body } of listAll(registry, REFRESH_GRANT_KIND, { tenant, where: { person } })) {
    const expiresAtMs = expiryOfGrant(body, clock.nowMs())
    if (expiresAtMs === null || body.epoch !== epoch) continue
    found.push({ session: toSession(id, body, expiresAtMs), end: (author) => refreshGrants.end(author, id) })
  }
  return found
}

async function codesOf(options: SessionsOptions, tenant: string, person: string): Promise<readonly FoundSession[]> {
  const { registry, clock, isRevoked, revoke } = options
  const found: FoundSession[] = []
  for await (const code of listAll(registry, AUTHORIZATION_CODE_KIND, { tenant, where: { person } })) {
    const { gave, credential } = code.body
    if (gave === null || gave.grant !== undefined || gave.expiresAtMs <= clock.nowMs()) continue
    const named = gave.revocation === undefined ? {} : { [REVOCATION_CLAIM]: gave.revocation }
    if (isRevoked({ jti: gave.jti, sub: person, ...named })) continue
    found.push({
      session: toSessionOfCode(code, gave),
      async end(author) {
        await registry.audit(author, 'session.end', { kind: AUTHORIZATION_CODE_KIND, id: code.id, tenant })
        await revoke({ tenant, credential: credential || person, ...gave })
      },
    })
  }
  return found
}

function toSession(id: string, body: RefreshGrantBody, expiresAtMs: number): Session {
  const { clientId, api, loggedInAtMs, lastUsedAtMs } = body
  return {
    id: toSessionId(id),
    clientId,
    api,
    loggedInAt: toTime(loggedInAtMs),
    lastUsedAt: toTime(lastUsedAtMs),
    expiresAt: toTime(expiresAtMs),
  }
}

function toSessionOfCode({ id, body, updatedAtMs }: Document<CodeBody>, { expiresAtMs }: GivenToken): Session {
  const { clientId, api, loggedInAtMs } = body
  return {
    id: toSessionId(id),
    clientId,
    api: api === '' ? null : api,
    loggedInAt: toTime(loggedInAtMs),
    lastUsedAt: toTime(updatedAtMs),
    expiresAt: toTime(expiresAtMs),
  }
}

/** Returns the id of the document without its kind: it opens nothing. */
function toSessionId(id: string): string {
  return `ses_${id.slice(id.indexOf('_') + 1)}`
}
