/** The documents of console sessions: found by a keyed hash of the id that the browser has, with tokens encrypted for each. */

import type { Clock } from '../runtime/clock.ts'
import type { Vault } from '../runtime/vault.ts'
import { documentKind, RevisionConflict, type Author, type Document, type Registry } from '../store/registry.ts'
import type { Tokens } from './token-source.ts'

export interface ConsoleSessionBody {
  readonly clientId: string
  /** Encrypted for the document. */
  readonly tokens: string
  readonly beganAtMs: number
  readonly usedAtMs: number
  readonly tokenUntilMs: number
}

export type Session = Document<ConsoleSessionBody>

export interface SessionDocuments {
  create(clientId: string, tokens: Tokens): Promise<string>
  /** Returns null for a session that has ended, and for an id that is none. */
  find(id: string): Promise<Session | null>
  /** Throws `RevisionConflict` if the session has changed. */
  replaceTokens(session: Session, tokens: Tokens): Promise<void>
  remove(session: Session): Promise<void>
  tokensOf(session: Session): Pick<Tokens, 'access' | 'refresh'>
}

export interface SessionDocumentsOptions {
  readonly registry: Registry
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt' | 'keyedHash'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly randomBytes: (size: number) => Buffer
}

const CONSOLE_SESSION_KIND = documentKind<ConsoleSessionBody>('console_session', 'hidden')

const HOUR_MS = 3_600_000
const IDLE_MS = 12 * HOUR_MS
const LIFETIME_MS = 7 * 24 * HOUR_MS
const ID_BYTES = 32
const ID = /^[A-Za-z0-9_-]{43}$/
/** Ended sessions that each new one removes: more than one, so that they do not accumulate. */
const REMOVED_AT_ONCE = 8
const READ_AT_ONCE = 1_000

export function createSessionDocuments(options: SessionDocumentsOptions): SessionDocuments {
  const { registry, vault, clock, randomBytes } = options
  const kind = CONSOLE_SESSION_KIND
  const contextOf = (document: string): string => `console session ${document}`
  const documentOf = (id: string): string => `console_${vault.keyedHash(contextOf(id))}`

  function toBody(document: string, tokens: Tokens, known: Pick<ConsoleSessionBody, 'clientId' | 'beganAtMs'>) {
    const { access, refresh, lifetimeMs } = tokens
    const encrypted = vault.encrypt(JSON.stringify({ access, refresh }), contextOf(document))
    const usedAtMs = clock.nowMs()
    return { ...known, tokens: encrypted, usedAtMs, tokenUntilMs: usedAtMs + lifetimeMs }
  }

  async function remove({ id, tenant, revision }: Session): Promise<void> {
    const write = { kind, id, tenant, expected: revision, body: null }
    await registry.commit(authorOf(tenant), 'console_session.end', [write]).catch(ignoreRace)
  }

  return {
    remove,
    async create(clientId, tokens) {
      const { tenant } = tokens
      const known = await registry.list(kind, { tenant, limit: READ_AT_ONCE })
      const ended = known.filter(({ body }) => hasEnded(body, clock.nowMs())).slice(0, REMOVED_AT_ONCE)
      for (const session of ended) await remove(session)
      const secret = randomBytes(ID_BYTES).toString('base64url')
      const id = documentOf(secret)
      const body = toBody(id, tokens, { clientId, beganAtMs: clock.nowMs() })
      await registry.commit(authorOf(tenant), 'console_session.begin', [{ kind, id, tenant, expected: 0, body }])
      return secret
    },
    async find(id) {
      const session = ID.test(id) ? await registry.get(kind, documentOf(id)) : null
      return session === null || hasEnded(session.body, clock.nowMs()) ? null : session
    },
    async replaceTokens({ id, tenant, revision, body: { clientId, beganAtMs } }, tokens) {
      const body = toBody(id, tokens, { clientId, beganAtMs })
      const write = { kind, id, tenant, expected: revision, body }
      await registry.commit(authorOf(tenant), 'console_session.renew', [write])
    },
    tokensOf: ({ id, body }) => JSON.parse(vault.decrypt(body.tokens, contextOf(id))) as Tokens,
  }
}

function hasEnded({ beganAtMs, usedAtMs }: ConsoleSessionBody, nowMs: number): boolean {
  return nowMs >= beganAtMs + LIFETIME_MS || nowMs >= usedAtMs + IDLE_MS
}

function authorOf(tenant: string): Author {
  return { tenant, consumer: 'system' }
}

function ignoreRace(cause: unknown): void {
  if (!(cause instanceof RevisionConflict)) throw cause
}
