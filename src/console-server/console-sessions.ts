/**
 * Sessions of people who have signed in to the console: the tokens stay here, and the browser has a random id only.
 *
 * A session is a registry document, found by a keyed hash of that id, with its tokens encrypted for it. It ends after half a day
 * without use, a week after the sign-in, when the person signs out, or when the refresh grant behind it ends, which
 * `/v1/me/sessions` lists and ends. The refresh token can be used once, so one renewal of a session runs at a time.
 */

import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Vault } from '../runtime/vault.ts'
import { documentKind, RevisionConflict, type Author, type Document, type Registry } from '../store/registry.ts'
import type { Tokens, TokenSource } from './token-source.ts'

export interface ConsoleSessions {
  /** Returns the id of a new session, for the cookie of the browser. */
  begin(clientId: string, tokens: Tokens): Promise<string>
  /** Returns a valid access token of the platform API; null if the session has ended. */
  tokenOf(id: string): Promise<string | null>
  end(id: string): Promise<void>
}

export interface ConsoleSessionsOptions {
  readonly registry: Registry
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt' | 'keyedHash'>
  readonly source: Pick<TokenSource, 'renew' | 'revoke'>
  readonly mutex: KeyedMutex
  readonly clock: Pick<Clock, 'nowMs'>
  readonly randomBytes: (size: number) => Buffer
}

export interface ConsoleSessionBody {
  readonly clientId: string
  /** Encrypted for the document. */
  readonly tokens: string
  readonly beganAtMs: number
  readonly usedAtMs: number
  readonly tokenUntilMs: number
}

export const CONSOLE_SESSION_KIND = documentKind<ConsoleSessionBody>('console_session', 'hidden')

const HOUR_MS = 3_600_000
const IDLE_MS = 12 * HOUR_MS
const LIFETIME_MS = 7 * 24 * HOUR_MS
/** Renewed before it expires, so that a call of some length ends with the token that it began with. */
const RENEW_BEFORE_MS = 60_000
const ID_BYTES = 32
const ID = /^[A-Za-z0-9_-]{43}$/
/** Ended sessions that each new one removes. */
const REMOVED_AT_ONCE = 8

type Session = Document<ConsoleSessionBody>

export function createConsoleSessions(options: ConsoleSessionsOptions): ConsoleSessions {
  const { registry, vault, source, mutex, clock, randomBytes } = options
  const documentId = (id: string): string => `console_${vault.keyedHash(`console session ${id}`)}`
  const contextOf = (document: string): string => `console session ${document}`

  function toBody(document: string, clientId: string, tokens: Tokens, beganAtMs: number): ConsoleSessionBody {
    const nowMs = clock.nowMs()
    const { access, refresh, lifetimeMs } = tokens
    const text = vault.encrypt(JSON.stringify({ access, refresh }), contextOf(document))
    return { clientId, tokens: text, beganAtMs, usedAtMs: nowMs, tokenUntilMs: nowMs + lifetimeMs }
  }

  function open({ id, body }: Session): { readonly access: string; readonly refresh: string } {
    return JSON.parse(vault.decrypt(body.tokens, contextOf(id))) as { access: string; refresh: string }
  }

  /** Returns null for a session that has ended, and for an id that is none. */
  async function find(id: string): Promise<Session | null> {
    const session = ID.test(id) ? await registry.get(CONSOLE_SESSION_KIND, documentId(id)) : null
    return session === null || hasEnded(session.body, clock.nowMs()) ? null : session
  }

  async function remove(session: Session): Promise<void> {
    const { id, tenant, revision } = session
    const write = { kind: CONSOLE_SESSION_KIND, id, tenant, expected: revision, body: null }
    await registry.commit(authorOf(tenant), 'console_session.end', [write]).catch(ignoreRace)
  }

  /** Another request may have renewed the session while this one waited. */
  async function renew(id: string): Promise<string | null> {
    const session = await find(id)
    if (session === null) return null
    const { access, refresh } = open(session)
    const { tenant, body, revision } = session
    if (body.tokenUntilMs - RENEW_BEFORE_MS > clock.nowMs()) return access
    const tokens = await source.renew(body.clientId, refresh)
    if (tokens === null) {
      await remove(session)
      return null
    }
    const renewed = toBody(session.id, body.clientId, tokens, body.beganAtMs)
    const write = { kind: CONSOLE_SESSION_KIND, id: session.id, tenant, expected: revision, body: renewed }
    await registry.commit(authorOf(tenant), 'console_session.renew', [write])
    return tokens.access
  }

  async function removeEnded(tenant: string): Promise<void> {
    const nowMs = clock.nowMs()
    const some = await registry.list(CONSOLE_SESSION_KIND, { tenant, limit: 1_000 })
    const ended = some.filter(({ body }) => hasEnded(body, nowMs)).slice(0, REMOVED_AT_ONCE)
    for (const session of ended) await remove(session)
  }

  return {
    async begin(clientId, tokens) {
      const { tenant } = tokens
      await removeEnded(tenant)
      const id = randomBytes(ID_BYTES).toString('base64url')
      const document = documentId(id)
      const body = toBody(document, clientId, tokens, clock.nowMs())
      const write = { kind: CONSOLE_SESSION_KIND, id: document, tenant, expected: 0, body }
      await registry.commit(authorOf(tenant), 'console_session.begin', [write])
      return id
    },
    async tokenOf(id) {
      const session = await find(id)
      if (session === null) return null
      if (session.body.tokenUntilMs - RENEW_BEFORE_MS > clock.nowMs()) return open(session).access
      return mutex.runExclusive([`console session ${session.id}`], () => renew(id))
    },
    async end(id) {
      const session = await find(id)
      if (session === null) return
      await source.revoke(session.body.clientId, open(session).refresh)
      await remove(session)
    },
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
