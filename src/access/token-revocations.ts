/**
 * Access tokens that were revoked before they expired.
 *
 * A revocation is stored until the token expires, and has reached every gateway thread before the command returns. The
 * number of revocations per credential is bounded: above it the command is refused, and no revocation is evicted.
 */

import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import { documentKind, RevisionConflict, type Author, type Registry, type Write } from '../store/registry.ts'
import type { GatewayPort, RevokedToken } from '../plan/gateway-port.ts'

export interface TokenToRevoke {
  readonly tenant: string
  readonly credential: string
  readonly jti: string
  readonly expiresAtMs: number
}

export interface TokenRevocations {
  /** Resolves when every thread rejects the token. Throws `Problem('unavailable')` if the credential has too many. */
  revoke(token: TokenToRevoke): Promise<void>
  isRevoked(jti: string): boolean
  /** Returns the revoked tokens that have not expired, for new threads. */
  live(): readonly RevokedToken[]
}

export interface TokenRevocationsOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'revokeToken'>
  readonly clock: Pick<Clock, 'nowMs'>
}

interface RevokedBody {
  readonly credential: string
  readonly untilMs: number
}

interface Held extends RevokedBody {
  readonly tenant: string
}

export const REVOKED_TOKEN_KIND = documentKind<RevokedBody>('revoked_token')
const PER_CREDENTIAL_MAX = 10_000
const PAGE = 500
/** Expired revocations deleted with each new one. */
const DELETED_AT_ONCE = 8

/** Not split: its functions are small and share the state at the top of the closure. */
export async function openTokenRevocations(options: TokenRevocationsOptions): Promise<TokenRevocations> {
  const { registry, gateway, clock } = options
  /** In the order of revocation. */
  const held = new Map<string, Held>()
  const counts = new Map<string, number>()

  for (let after = ''; ;) {
    const page = await registry.list(REVOKED_TOKEN_KIND, { after, limit: PAGE })
    for (const { id, tenant, body } of page) hold(id, { tenant, ...body })
    if (page.length < PAGE) break
    after = page.at(-1)?.id ?? ''
  }

  function hold(jti: string, token: Held): void {
    held.set(jti, token)
    counts.set(token.credential, (counts.get(token.credential) ?? 0) + 1)
  }

  function drop(jti: string, { credential }: Held): void {
    held.delete(jti)
    const left = (counts.get(credential) ?? 1) - 1
    if (left === 0) counts.delete(credential)
    else counts.set(credential, left)
  }

  /** Deletes the oldest revocations whose tokens have expired. */
  async function deleteExpired(): Promise<void> {
    const writes: Write[] = []
    for (const [jti, token] of held) {
      if (writes.length >= DELETED_AT_ONCE || token.untilMs > clock.nowMs()) break
      drop(jti, token)
      writes.push({ kind: REVOKED_TOKEN_KIND, id: jti, tenant: token.tenant, expected: 1, body: null })
    }
    if (writes.length > 0) await registry.commit(author('default'), 'revoked_token.forget', writes).catch(ignoreRace)
  }

  return {
    isRevoked: (jti) => held.has(jti),
    live() {
      const nowMs = clock.nowMs()
      return [...held].filter(([, { untilMs }]) => untilMs > nowMs).map(([jti, { untilMs }]) => ({ jti, untilMs }))
    },
    async revoke({ tenant, credential, jti, expiresAtMs: untilMs }) {
      if (!held.has(jti)) {
        await deleteExpired()
        if ((counts.get(credential) ?? 0) >= PER_CREDENTIAL_MAX) {
          throw new Problem(
            'unavailable',
            'The client has revoked too many tokens that have not expired yet; try again later.',
          )
        }
        const body: RevokedBody = { credential, untilMs }
        const write: Write = { kind: REVOKED_TOKEN_KIND, id: jti, tenant, expected: 0, body }
        await registry.commit(author(tenant), 'token.revoke', [write]).catch(ignoreRace)
        if (!held.has(jti)) hold(jti, { tenant, credential, untilMs })
      }
      // Also for a token that is already revoked: this call too resolves only when every thread has the revocation.
      await gateway.revokeToken({ jti, untilMs })
    },
  }
}

function author(tenant: string): Author {
  return { tenant, consumer: 'system' }
}

/** A concurrent command has written the same document. */
function ignoreRace(cause: unknown): void {
  if (!(cause instanceof RevisionConflict)) throw cause
}
