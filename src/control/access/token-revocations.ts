/**
 * Access tokens that were revoked before they expired.
 *
 * A revocation is stored until the token has expired by any clock, and has reached every gateway thread before the command
 * returns. The number of revocations per credential is bounded: above it the command is refused, and no revocation is evicted.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import { CLOCK_MARGIN_MS, type Clock } from '../../foundation/runtime/clock.ts'
import {
  documentKind,
  isOfKind,
  RevisionConflict,
  type Author,
  type Change,
  type Registry,
  type Write,
} from '../../storage/store/registry.ts'
import type { GatewayPort, RevokedToken } from '../../boundary/plan/gateway-port.ts'

export interface TokenToRevoke {
  readonly tenant: string
  readonly credential: string
  readonly jti: string
  readonly expiresAtMs: number
}

export interface TokenRevocations {
  /** Resolves when every thread rejects the token, and its streams have ended. Throws `Problem('unavailable')` if the credential has too many. */
  revoke(token: TokenToRevoke): Promise<void>
  isRevoked(jti: string): boolean
  /** Returns the revoked tokens that have not expired, for new threads. */
  live(): readonly RevokedToken[]
  /** Applies a change of the stored revocations that another node has made. Resolves as `revoke` does. */
  follow(change: Change): Promise<void>
  /** Calls `listener` with each revoked token, before the revocation resolves. */
  watch(listener: (jti: string) => void): void
}

export interface TokenRevocationsOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'revokeToken'>
  readonly clock: Pick<Clock, 'nowMs'>
}

interface RevokedBody {
  readonly credential: string
  /** From then on no node accepts the token. */
  readonly untilMs: number
}

interface Revocation extends RevokedBody {
  readonly tenant: string
}

export const REVOKED_TOKEN_KIND = documentKind<RevokedBody>('revoked_token', 'hidden')
const PER_CREDENTIAL_MAX = 10_000
const PAGE = 500
/** Expired revocations deleted with each new one. */
const DELETED_PER_REVOCATION = 8

export async function openTokenRevocations(options: TokenRevocationsOptions): Promise<TokenRevocations> {
  const { registry, gateway, clock } = options
  const revocations = await loadRevocations(registry)
  const listeners: ((jti: string) => void)[] = []

  return {
    isRevoked: (jti) => revocations.has(jti),
    live() {
      const nowMs = clock.nowMs()
      return [...revocations.entries()]
        .filter(([, { untilMs }]) => untilMs > nowMs)
        .map(([jti, { untilMs }]) => ({ jti, untilMs }))
    },
    async revoke({ tenant, credential, jti, expiresAtMs }) {
      const untilMs = expiresAtMs + CLOCK_MARGIN_MS
      if (!revocations.has(jti)) {
        await deleteExpired(registry, revocations, clock.nowMs())
        if (revocations.countOf(credential) >= PER_CREDENTIAL_MAX) {
          throw new Problem(
            'unavailable',
            'The client has revoked too many tokens that have not expired yet; try again later.',
          )
        }
        const body: RevokedBody = { credential, untilMs }
        const write: Write = { kind: REVOKED_TOKEN_KIND, id: jti, tenant, expected: 0, body }
        await registry.commit(author(tenant), 'token.revoke', [write]).catch(ignoreRace)
        if (!revocations.has(jti)) revocations.add(jti, { tenant, credential, untilMs })
      }
      // Also for a token that is already revoked: this call too resolves only when every thread has the revocation.
      await gateway.revokeToken({ jti, untilMs })
      for (const listener of listeners) listener(jti)
    },
    async follow({ document, removed }) {
      if (!isOfKind(document, REVOKED_TOKEN_KIND)) return
      const { id: jti, tenant, body } = document
      if (removed) return revocations.remove(jti)
      if (!revocations.has(jti)) revocations.add(jti, { tenant, ...body })
      await gateway.revokeToken({ jti, untilMs: body.untilMs })
      for (const listener of listeners) listener(jti)
    },
    watch: (listener) => void listeners.push(listener),
  }
}

/** Whether a node whose clock differs from that of this one may still accept the token. */
export function mayBeAccepted({ expiresAtMs }: Pick<TokenToRevoke, 'expiresAtMs'>, nowMs: number): boolean {
  return expiresAtMs + CLOCK_MARGIN_MS > nowMs
}

/** Revocations in memory, in the order in which they were added, with their number per credential. */
class RevocationTable {
  readonly #byToken = new Map<string, Revocation>()
  readonly #counts = new Map<string, number>()

  entries(): IterableIterator<[jti: string, revocation: Revocation]> {
    return this.#byToken.entries()
  }

  has(jti: string): boolean {
    return this.#byToken.has(jti)
  }

  countOf(credential: string): number {
    return this.#counts.get(credential) ?? 0
  }

  add(jti: string, revocation: Revocation): void {
    this.#byToken.set(jti, revocation)
    this.#counts.set(revocation.credential, this.countOf(revocation.credential) + 1)
  }

  remove(jti: string): void {
    const revocation = this.#byToken.get(jti)
    if (revocation === undefined) return
    const { credential } = revocation
    this.#byToken.delete(jti)
    const left = (this.#counts.get(credential) ?? 1) - 1
    if (left === 0) this.#counts.delete(credential)
    else this.#counts.set(credential, left)
  }
}

async function loadRevocations(registry: Registry): Promise<RevocationTable> {
  const revocations = new RevocationTable()
  for (let after = ''; ;) {
    const page = await registry.list(REVOKED_TOKEN_KIND, { after, limit: PAGE })
    for (const { id, tenant, body } of page) revocations.add(id, { tenant, ...body })
    if (page.length < PAGE) return revocations
    after = page.at(-1)?.id ?? ''
  }
}

/** Deletes the oldest revocations whose tokens have expired. */
async function deleteExpired(registry: Registry, revocations: RevocationTable, nowMs: number): Promise<void> {
  const writes: Write[] = []
  for (const [jti, revocation] of revocations.entries()) {
    if (writes.length >= DELETED_PER_REVOCATION || revocation.untilMs > nowMs) break
    revocations.remove(jti)
    writes.push({ kind: REVOKED_TOKEN_KIND, id: jti, tenant: revocation.tenant, expected: 1, body: null })
  }
  if (writes.length > 0) await registry.commit(author('default'), 'revoked_token.forget', writes).catch(ignoreRace)
}

function author(tenant: string): Author {
  return { tenant, consumer: 'system' }
}

/** A concurrent command has written the same document. */
function ignoreRace(cause: unknown): void {
  if (!(cause instanceof RevisionConflict)) throw cause
}
