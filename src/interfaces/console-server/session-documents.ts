/**
 * The documents of console sessions: found by a keyed hash of the id that the browser has, with tokens encrypted for each.
 *
 * Sessions that have ended without a request that noticed are removed a week after the sign-in.
 */

import { HOUR_MS } from '../../foundation/domain/calendar.ts'
import { dueWrite, type DueTime } from '../../control/command/due-times.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import {
  documentKind,
  RevisionConflict,
  type Author,
  type Document,
  type Registry,
} from '../../storage/store/registry.ts'
import type { TokenKeeper } from '../../boundary/plan/oauth-call.ts'
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
  /** Keeps the tokens of a renewal in the session, unless it has changed. */
  keeperOf(session: Session): TokenKeeper
  /** Removes the session, also if it changes meanwhile. */
  remove(session: Session): Promise<void>
  tokensOf(session: Session): Pick<Tokens, 'access' | 'refresh'>
}

export interface SessionDocumentsOptions {
  readonly registry: Registry
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt' | 'keyedHash'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly randomBytes: (size: number) => Buffer
}

export const CONSOLE_SESSION_DUE = 'console_session_expiry'
const CONSOLE_SESSION_KIND = documentKind<ConsoleSessionBody>('console_session', 'hidden')

const IDLE_MS = 12 * HOUR_MS
const LIFETIME_MS = 7 * 24 * HOUR_MS
const ID_BYTES = 32
const ATTEMPTS_MAX = 10
const ID = /^[A-Za-z0-9_-]{43}$/

export function createSessionDocuments(options: SessionDocumentsOptions): SessionDocuments {
  const { registry, vault, clock, randomBytes } = options
  const kind = CONSOLE_SESSION_KIND
  const contextOf = (document: string): string => `console session ${document}`
  const documentOf = (id: string): string => `console_${vault.keyedHash(contextOf(id))}`

  function toBody(
    document: string,
    tokens: Omit<Tokens, 'tenant'>,
    known: Pick<ConsoleSessionBody, 'clientId' | 'beganAtMs'>,
  ) {
    const { access, refresh, lifetimeMs } = tokens
    const encrypted = vault.encrypt(JSON.stringify({ access, refresh }), contextOf(document))
    const usedAtMs = clock.nowMs()
    return { ...known, tokens: encrypted, usedAtMs, tokenUntilMs: usedAtMs + lifetimeMs }
  }

  return {
    remove: (session) => remove(registry, session),
    async create(clientId, tokens) {
      const { tenant } = tokens
      const secret = randomBytes(ID_BYTES).toString('base64url')
      const id = documentOf(secret)
      const beganAtMs = clock.nowMs()
      await registry.commit(authorOf(tenant), 'console_session.begin', [
        { kind, id, tenant, expected: 0, body: toBody(id, tokens, { clientId, beganAtMs }) },
        dueWrite({ tenant, kind: CONSOLE_SESSION_DUE, subject: id, atMs: beganAtMs + LIFETIME_MS }),
      ])
      return secret
    },
    async find(id) {
      const session = ID.test(id) ? await registry.get(kind, documentOf(id)) : null
      return session === null || hasEnded(session.body, clock.nowMs()) ? null : session
    },
    keeperOf: ({ id, tenant, revision, body: { clientId, beganAtMs } }) => ({
      hasChanged: async () => (await registry.get(kind, id))?.revision !== revision,
      writeOf: (tokens) => ({
        ...{ kind, id, tenant, expected: revision },
        body: toBody(id, tokens, { clientId, beganAtMs }),
      }),
    }),
    tokensOf: ({ id, body }) => JSON.parse(vault.decrypt(body.tokens, contextOf(id))) as Tokens,
  }
}

/** Returns what removes a session a week after its sign-in. */
export function createSessionExpiry({ registry }: Pick<SessionDocumentsOptions, 'registry'>) {
  return async ({ subject }: Pick<DueTime, 'subject'>): Promise<void> => {
    const session = await registry.get(CONSOLE_SESSION_KIND, subject)
    if (session !== null) await remove(registry, session)
  }
}

async function remove(registry: Registry, session: Session): Promise<void> {
  let found: Session | null = session
  for (let attempt = 1; attempt <= ATTEMPTS_MAX && found !== null; attempt++) {
    const { id, tenant, revision }: Session = found
    const write = { kind: CONSOLE_SESSION_KIND, id, tenant, expected: revision, body: null }
    try {
      await registry.commit(authorOf(tenant), 'console_session.end', [write])
      return
    } catch (cause) {
      if (!(cause instanceof RevisionConflict)) throw cause
    }
    found = await registry.get(CONSOLE_SESSION_KIND, id)
  }
}

function hasEnded({ beganAtMs, usedAtMs }: ConsoleSessionBody, nowMs: number): boolean {
  return nowMs >= beganAtMs + LIFETIME_MS || nowMs >= usedAtMs + IDLE_MS
}

function authorOf(tenant: string): Author {
  return { tenant, consumer: 'system' }
}
