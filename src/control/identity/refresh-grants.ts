/**
 * Refresh grants: what a person has allowed a client until further notice, and the refresh token that is in force
 * (RFC 6749, 1.5; RFC 9700, 4.14).
 *
 * A token is `{id}.{family}.{secret}`. Both secrets are random, and only keyed hashes of them are stored. The family stays for the
 * life of the grant and the secret changes with each use, so that every former token is recognised, however many there were.
 * Compare-and-set makes the use exclusive. The grant lists the access tokens that it gave, which end with it.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { mayBeAccepted } from '../access/token-revocations.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import { isSameHash } from '../../boundary/plan/credential-format.ts'
import {
  documentKind,
  RevisionConflict,
  type Author,
  type Document,
  type Registry,
  type Write,
} from '../../storage/store/registry.ts'
import type { GivenToken } from './authorization-codes.ts'

export interface RefreshGrantBody {
  readonly clientId: string
  readonly credential: string
  readonly api: string
  readonly person: string
  /** The epoch of the person at the sign-in. */
  readonly epoch: number
  /** The scopes of the first access token, which no later one exceeds. */
  readonly scope: string
  readonly opensUserinfo: boolean
  readonly loggedInAtMs: number
  /** The client certificate over which a public client must use the token; missing if it is not bound. */
  readonly certificate?: string
  readonly lastUsedAtMs: number
  readonly expiresAtMs: number
  readonly familyHash: string
  readonly secretHash: string
  /** Access tokens that have not expired. */
  readonly gave: readonly GivenToken[]
  /** It gives no more tokens; those that it gave are being revoked. */
  readonly isEnded?: boolean
}

export interface RefreshGrant extends RefreshGrantBody {
  readonly id: string
  readonly tenant: string
  readonly revision: number
}

/** A sign-in that a grant begins with. */
export interface RefreshLogin {
  readonly tenant: string
  readonly clientId: string
  readonly credential: string
  readonly api: string
  readonly person: { readonly id: string; readonly epoch: number }
  readonly scope: string
  readonly opensUserinfo: boolean
  readonly loggedInAtMs: number
  readonly certificate?: string
}

export interface NewRefreshGrant {
  readonly id: string
  /** The first refresh token. */
  readonly text: string
  readonly write: Write
}

export interface FoundGrant {
  readonly grant: RefreshGrant
  /** The part of the token that its successors share. */
  readonly family: string
  /** False: the token was replaced by a later one. */
  readonly isInForce: boolean
}

export interface RefreshGrants {
  /** Returns a grant that exists once its write is committed. */
  begin(login: RefreshLogin, gives: GivenToken): NewRefreshGrant
  /** Returns the grant of a token, even if it has ended or expired; null if no grant has given the token. */
  find(text: string): Promise<FoundGrant | null>
  /** Returns when the grant expires unless it is used; null if it has ended or expired. */
  expiryOf(body: RefreshGrantBody): number | null
  /**
   * Replaces the token; returns null if a concurrent request has used or ended the grant. `also` returns a write for the same commit;
   * its conflict counts as one of the grant.
   */
  rotate(found: FoundGrant, gives: GivenToken, also?: (next: string) => Write): Promise<string | null>
  /** Resolves when every gateway thread refuses the access tokens of the grant. Does nothing if the grant is gone. */
  end(author: Author, id: string, action?: EndAction): Promise<void>
  /** Ends the oldest grants of a person and a client above the maximum, and deletes grants that have expired. */
  trim(login: Pick<RefreshLogin, 'tenant' | 'clientId' | 'person'>): Promise<void>
}

export type EndAction = 'refresh_grant.end' | 'refresh_grant.reuse' | 'refresh_grant.replace'

export interface RefreshGrantsOptions {
  readonly registry: Registry
  readonly keyedHash: (text: string) => string
  readonly randomBytes: (size: number) => Buffer
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
  /** Resolves when every gateway thread refuses the access token. */
  readonly revoke: (token: GivenToken & { readonly tenant: string; readonly credential: string }) => Promise<void>
}

export const REFRESH_GRANT_KIND = documentKind<RefreshGrantBody>('refresh_grant', 'hidden')
const IDLE_MS = 30 * DAY_MS
const LIFETIME_MS = 90 * DAY_MS
const SECRET_BYTES = 32
/** Grants of a person and a client, such as those of one app on several devices. */
const PER_CLIENT_MAX = 20
/** Expired grants deleted with each new one: more than one, so that they do not accumulate. */
const DELETED_AT_ONCE = 4
const ATTEMPTS_MAX = 10
const TEXT = /^(rfg_[0-9a-z]{1,32})\.([\w-]{43})\.([\w-]{43})$/

/** Whether a text has the form of a refresh token. */
export function isRefreshTokenShaped(text: string): boolean {
  return TEXT.test(text)
}

export function createRefreshGrants(options: RefreshGrantsOptions): RefreshGrants {
  const { registry, randomBytes, createId, clock } = options
  // The prefix separates these hashes from those of other secrets; the id ties them to the grant.
  const hashOf = (part: 'family' | 'secret', id: string, text: string): string =>
    options.keyedHash(`refresh ${part} ${id} ${text}`)
  const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

  return {
    begin(login, gives) {
      const id = createId('rfg')
      const [family, secret] = [newSecret(), newSecret()]
      const { tenant, person, ...rest } = login
      const nowMs = clock.nowMs()
      const body: RefreshGrantBody = {
        ...rest,
        person: person.id,
        epoch: person.epoch,
        lastUsedAtMs: nowMs,
        expiresAtMs: nowMs + LIFETIME_MS,
        familyHash: hashOf('family', id, family),
        secretHash: hashOf('secret', id, secret),
        gave: [gives],
      }
      return { id, text: `${id}.${family}.${secret}`, write: toWrite({ id, tenant, revision: 0, body }, body) }
    },
    async find(text) {
      const [, id = '', family = '', secret = ''] = TEXT.exec(text) ?? []
      const document = id === '' ? null : await registry.get(REFRESH_GRANT_KIND, id)
      if (document === null || !isSameHash(hashOf('family', id, family), document.body.familyHash)) return null
      const { tenant, revision, body } = document
      const isInForce = isSameHash(hashOf('secret', id, secret), body.secretHash)
      return { grant: { ...body, id, tenant, revision }, family, isInForce }
    },
    expiryOf: (body) => expiryOfGrant(body, clock.nowMs()),
    async rotate({ grant: { id, tenant, revision, ...body }, family }, gives, also) {
      const secret = newSecret()
      const nowMs = clock.nowMs()
      const gave = [...body.gave.filter((token) => mayBeAccepted(token, nowMs)), gives]
      const next = { ...body, gave, lastUsedAtMs: nowMs, secretHash: hashOf('secret', id, secret) }
      const text = `${id}.${family}.${secret}`
      const kept = also === undefined ? [] : [also(text)]
      const writes = [toWrite({ id, tenant, revision, body }, next), ...kept]
      const isDone = await tryCommit(registry, authorOf(tenant, body), 'refresh_grant.use', writes)
      return isDone ? text : null
    },
    end: (author, id, action = 'refresh_grant.end') => end(options, author, id, action),
    trim: (login) => trim(options, login),
  }
}

async function trim(
  options: RefreshGrantsOptions,
  { tenant, clientId, person }: Pick<RefreshLogin, 'tenant' | 'clientId' | 'person'>,
): Promise<void> {
  const { registry, clock } = options
  const where = { person: person.id, client: clientId }
  const nowMs = clock.nowMs()
  const all = await registry.list(REFRESH_GRANT_KIND, { tenant, where, limit: PER_CLIENT_MAX * 2 })
  const live = all.filter(({ body }) => expiryOfGrant(body, nowMs) !== null)
  for (const { id, body } of live.slice(0, Math.max(0, live.length - PER_CLIENT_MAX))) {
    await end(options, authorOf(tenant, body), id, 'refresh_grant.replace')
  }
  // Ids sort by time, so that the first grants expire first.
  const oldest = await registry.list(REFRESH_GRANT_KIND, { limit: DELETED_AT_ONCE })
  const gone = new Map([...all, ...oldest].filter(({ body }) => isPast(body, nowMs)).map((each) => [each.id, each]))
  const writes = [...gone.values()].map((each) => toWrite(each, null))
  if (writes.length > 0) await tryCommit(registry, { tenant, consumer: 'system' }, 'refresh_grant.forget', writes)
}

/** Ends a grant in three steps, so that a repetition after a crash completes it: no new tokens, no old tokens, no grant. */
async function end(options: RefreshGrantsOptions, author: Author, id: string, action: EndAction): Promise<void> {
  const { registry, clock, revoke } = options
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const document = await registry.get(REFRESH_GRANT_KIND, id)
    if (document === null) return
    const { tenant, body } = document
    const ended = { ...body, isEnded: true }
    if (body.isEnded !== true && !(await tryCommit(registry, author, action, [toWrite(document, ended)]))) continue
    const nowMs = clock.nowMs()
    for (const token of body.gave) {
      if (mayBeAccepted(token, nowMs)) await revoke({ tenant, credential: body.credential, ...token })
    }
    const revision = document.revision + (body.isEnded === true ? 0 : 1)
    await tryCommit(registry, author, 'refresh_grant.forget', [toWrite({ ...document, revision }, null)])
    return
  }
  throw new Error(`the refresh grant ${id} was changed during ${ATTEMPTS_MAX} attempts to end it`)
}

function toWrite(
  { id, tenant, revision, body }: Pick<Document<RefreshGrantBody>, 'id' | 'tenant' | 'revision' | 'body'>,
  next: RefreshGrantBody | null,
): Write {
  const keys = { person: body.person, client: body.clientId }
  return { kind: REFRESH_GRANT_KIND, id, tenant, expected: revision, body: next, ...(next !== null && { keys }) }
}

/** Returns when a grant expires unless it is used; null if it has ended or expired. */
export function expiryOfGrant(body: RefreshGrantBody, nowMs: number): number | null {
  const expiresAtMs = toExpiryMs(body)
  return body.isEnded === true || expiresAtMs <= nowMs ? null : expiresAtMs
}

/** Whether the grant has expired, and no node accepts an access token that it gave. */
function isPast(body: RefreshGrantBody, nowMs: number): boolean {
  return toExpiryMs(body) <= nowMs && !body.gave.some((token) => mayBeAccepted(token, nowMs))
}

function toExpiryMs({ lastUsedAtMs, expiresAtMs }: RefreshGrantBody): number {
  return Math.min(lastUsedAtMs + IDLE_MS, expiresAtMs)
}

function authorOf(tenant: string, { person }: Pick<RefreshGrantBody, 'person'>): Author {
  return { tenant, consumer: 'system', person }
}

/** Returns false if a concurrent request has changed one of the documents. */
async function tryCommit(
  registry: Registry,
  author: Author,
  action: string,
  writes: readonly Write[],
): Promise<boolean> {
  try {
    await registry.commit(author, action, writes)
    return true
  } catch (cause) {
    if (cause instanceof RevisionConflict) return false
    throw cause
  }
}
