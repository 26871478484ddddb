/**
 * Tokens that were given back, or taken back, before they expired.
 *
 * A revocation is a document until the token has expired by itself, and has reached every gateway thread
 * before the command answers. A credential may have many, but not without end: beyond the bound the
 * command is refused, and nothing is forgotten.
 */

import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import { RevisionConflict, type Author, type Registry, type Write } from '../store/registry.ts'
import type { GatewayPort, RevokedToken } from '../plan/gateway-port.ts'

export interface TokenToRevoke {
  readonly tenant: string
  readonly credential: string
  readonly jti: string
  readonly expiresAtMs: number
}

export interface TokenRevocations {
  /** Resolves when every thread knows. Throws `Problem('unavailable')` where the credential has too many. */
  revoke(token: TokenToRevoke): Promise<void>
  isRevoked(jti: string): boolean
  /** All that have not expired, for threads that start. */
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

const KIND = 'revoked_token'
const OF_CREDENTIAL_MAX = 10_000
const PAGE = 500
/** Outlived ones that each new one clears away. */
const CLEARED_AT_ONCE = 8

export async function openTokenRevocations(options: TokenRevocationsOptions): Promise<TokenRevocations> {
  const { registry, gateway, clock } = options
  /** In the order in which they were heard of. */
  const held = new Map<string, Held>()
  const counts = new Map<string, number>()

  for (let after = ''; ;) {
    const page = await registry.list<RevokedBody>(KIND, { after, limit: PAGE })
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

  /** Removes the oldest that have outlived their tokens. */
  async function clear(): Promise<void> {
    const writes: Write[] = []
    for (const [jti, token] of held) {
      if (writes.length >= CLEARED_AT_ONCE || token.untilMs > clock.nowMs()) break
      drop(jti, token)
      writes.push({ kind: KIND, id: jti, tenant: token.tenant, expected: 1, body: null })
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
        await clear()
        if ((counts.get(credential) ?? 0) >= OF_CREDENTIAL_MAX) {
          throw new Problem(
            'unavailable',
            'The client has revoked too many tokens that have not expired yet; try again later.',
          )
        }
        const body: RevokedBody = { credential, untilMs }
        const write: Write = { kind: KIND, id: jti, tenant, expected: 0, body }
        await registry.commit(author(tenant), 'token.revoke', [write]).catch(ignoreRace)
        if (!held.has(jti)) hold(jti, { tenant, credential, untilMs })
      }
      // Also where it was revoked before: who answers then must know that every thread knows.
      await gateway.revokeToken({ jti, untilMs })
    },
  }
}

function author(tenant: string): Author {
  return { tenant, consumer: 'system' }
}

/** Another has done the same at the same time. */
function ignoreRace(cause: unknown): void {
  if (!(cause instanceof RevisionConflict)) throw cause
}
