/**
 * Authorization codes (RFC 6749, 4.1.2), valid for 60 seconds and for one use.
 *
 * A code is a registry document with an id and a secret; only a keyed hash of the secret is stored. Compare-and-set makes
 * the use exclusive: of two concurrent requests one gets a token, and the other reads which token that was. Codes are
 * deleted after the token that they gave has expired.
 */

import type { Person } from './userinfo.ts'
import { isSameHash } from '../../boundary/plan/credential-format.ts'
import { mayBeAccepted } from '../access/token-revocations.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import { documentKind, RevisionConflict, type Author, type Registry, type Write } from '../../storage/store/registry.ts'

/** The access that a person has allowed. */
export interface Consent {
  readonly tenant: string
  readonly clientId: string
  readonly credential: string
  /** `''`: the first member of the client's product that redeems it. */
  readonly api: string
  readonly redirectUri: string
  readonly challenge: string
  readonly person: Person
  /** The `scope` of the request; null if none was sent. */
  readonly scope: string | null
  readonly wantsIdToken: boolean
  readonly wantsProfile: boolean
  readonly nonce: string | null
  readonly loggedInAtMs: number
}

export interface CodeBody extends Consent {
  readonly secretHash: string
  readonly expiresAtMs: number
  /** The token that was issued for the code; null if the code is unused. */
  readonly gave: GivenToken | null
}

export interface GivenToken {
  readonly jti: string
  readonly expiresAtMs: number
  /** The refresh grant that began with the token; missing if there is none. */
  readonly grant?: string
  /** The revocation that the token names; missing for one of an earlier version. */
  readonly revocation?: string
}

export interface Code extends CodeBody {
  readonly id: string
  readonly revision: number
}

export interface AuthorizationCodes {
  /** Returns the text that the client redeems. */
  create(consent: Consent): Promise<string>
  /** Returns the code of a text, even if it is used or expired; null if there is none. */
  find(text: string): Promise<Code | null>
  /** Marks the code as used and commits `more` with it; returns false if a concurrent request has used it. */
  use(code: Code, gives: GivenToken, more?: readonly Write[]): Promise<boolean>
}

export interface AuthorizationCodesOptions {
  readonly registry: Registry
  readonly keyedHash: (text: string) => string
  readonly randomBytes: (size: number) => Buffer
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
}

export const AUTHORIZATION_CODE_KIND = documentKind<CodeBody>('authorization_code', 'hidden')
const LIFETIME_MS = 60_000
const TOKEN_LIFETIME_MS = 3_600_000
const SECRET_BYTES = 32
/** Expired codes deleted with each new one: more than one, so that they do not accumulate. */
const DELETED_AT_ONCE = 4
const TEXT_LENGTH_MAX = 256

export function createAuthorizationCodes(options: AuthorizationCodesOptions): AuthorizationCodes {
  const { registry, keyedHash, randomBytes, createId, clock } = options

  /** Reads the oldest codes first, because ids sort by time. */
  async function expiredCodes(): Promise<readonly { id: string; tenant: string; revision: number }[]> {
    const oldest = await registry.list(AUTHORIZATION_CODE_KIND, { limit: DELETED_AT_ONCE })
    const nowMs = clock.nowMs()
    return oldest.filter(({ body }) => !mayBeAccepted({ expiresAtMs: body.expiresAtMs + TOKEN_LIFETIME_MS }, nowMs))
  }

  return {
    async create(consent) {
      const id = createId('code')
      const secret = randomBytes(SECRET_BYTES).toString('base64url')
      const expiresAtMs = clock.nowMs() + LIFETIME_MS
      const body: CodeBody = { ...consent, secretHash: keyedHash(secret), expiresAtMs, gave: null }
      await registry.commit(author(consent), 'authorization_code.create', [
        { kind: AUTHORIZATION_CODE_KIND, id, tenant: consent.tenant, expected: 0, body, keys: keysOf(consent) },
      ])
      const removed = (await expiredCodes()).map(({ id, tenant, revision }) => ({
        ...{ kind: AUTHORIZATION_CODE_KIND, id, tenant, expected: revision },
        body: null,
      }))
      if (removed.length > 0)
        await registry.commit(author(consent), 'authorization_code.forget', removed).catch(ignoreRace)
      return `${id}.${secret}`
    },
    async find(text) {
      const [id = '', secret = ''] = text.length > TEXT_LENGTH_MAX ? [] : text.split('.', 2)
      const document = await registry.get(AUTHORIZATION_CODE_KIND, id)
      if (document === null || !isSameHash(keyedHash(secret), document.body.secretHash)) return null
      return { ...document.body, id, revision: document.revision }
    },
    async use({ id, revision, ...code }, gives, more = []) {
      try {
        await registry.commit(author(code), 'authorization_code.use', [
          {
            kind: AUTHORIZATION_CODE_KIND,
            id,
            tenant: code.tenant,
            expected: revision,
            body: { ...code, gave: gives },
            keys: keysOf(code),
          },
          ...more,
        ])
        return true
      } catch (cause) {
        if (cause instanceof RevisionConflict) return false
        throw cause
      }
    },
  }
}

/** The codes of a person are its sessions; those of a client end when it is removed. */
function keysOf({ person, clientId }: Consent): Readonly<Record<string, string>> {
  return { person: person.id, client: clientId }
}

function author({ tenant, person }: Consent): Author {
  return { tenant, consumer: 'system', person: person.id }
}

/** A concurrent request has deleted the same codes. */
function ignoreRace(cause: unknown): void {
  if (!(cause instanceof RevisionConflict)) throw cause
}
