/**
 * Authorization codes (RFC 6749, 4.1.2): good for 60 seconds and for one use.
 *
 * A code is a document of the registry, found by an id and proven by a secret of which only a keyed
 * hash is kept. It is used by compare-and-set: of two who redeem it at once one gets a token, and the
 * other learns which token that was. Codes are forgotten when the token they gave has expired.
 */

import { isSameHash } from '../plan/credential-format.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import { documentKind, RevisionConflict, type Author, type Registry } from '../store/registry.ts'

/** What a person has agreed to. */
export interface Consent {
  readonly tenant: string
  readonly clientId: string
  readonly credential: string
  /** `''`: whichever member of the client's product redeems it first. */
  readonly api: string
  readonly redirectUri: string
  readonly challenge: string
  readonly person: { readonly id: string; readonly username: string; readonly name: string }
  /** The `scope` of the request; null: none was sent. */
  readonly scope: string | null
  readonly wantsIdToken: boolean
  readonly wantsProfile: boolean
  readonly nonce: string | null
  readonly loggedInAtMs: number
}

export interface CodeBody extends Consent {
  readonly secretHash: string
  readonly expiresAtMs: number
  /** The token it gave; null: it was not used yet. */
  readonly gave: GivenToken | null
}

export interface GivenToken {
  readonly jti: string
  readonly expiresAtMs: number
}

export interface Code extends CodeBody {
  readonly id: string
  readonly revision: number
}

export interface AuthorizationCodes {
  /** The text that the client redeems. */
  create(consent: Consent): Promise<string>
  /** The code behind a text, used or not, expired or not; null where there is none. */
  find(text: string): Promise<Code | null>
  /** Marks it used; false where another was faster. */
  use(code: Code, gives: GivenToken): Promise<boolean>
}

export interface AuthorizationCodesOptions {
  readonly registry: Registry
  readonly keyedHash: (text: string) => string
  readonly randomBytes: (size: number) => Buffer
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
}

export const AUTHORIZATION_CODE_KIND = documentKind<CodeBody>('authorization_code')
const LIFETIME_MS = 60_000
const TOKEN_LIFETIME_MS = 3_600_000
const SECRET_BYTES = 32
/** Old codes that each new one clears away: more than one, so that they go faster than they come. */
const CLEARED_AT_ONCE = 4
const TEXT_LENGTH_MAX = 256

export function createAuthorizationCodes(options: AuthorizationCodesOptions): AuthorizationCodes {
  const { registry, keyedHash, randomBytes, createId, clock } = options

  /** Ids sort by time, so the oldest come first. */
  async function outlived(): Promise<readonly { id: string; tenant: string; revision: number }[]> {
    const oldest = await registry.list(AUTHORIZATION_CODE_KIND, { limit: CLEARED_AT_ONCE })
    const nowMs = clock.nowMs()
    return oldest.filter(({ body }) => body.expiresAtMs + TOKEN_LIFETIME_MS < nowMs)
  }

  return {
    async create(consent) {
      const id = createId('code')
      const secret = randomBytes(SECRET_BYTES).toString('base64url')
      const expiresAtMs = clock.nowMs() + LIFETIME_MS
      const body: CodeBody = { ...consent, secretHash: keyedHash(secret), expiresAtMs, gave: null }
      await registry.commit(author(consent), 'authorization_code.create', [
        { kind: AUTHORIZATION_CODE_KIND, id, tenant: consent.tenant, expected: 0, body },
      ])
      const removed = (await outlived()).map(({ id, tenant, revision }) => ({
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
    async use({ id, revision, ...code }, gives) {
      try {
        await registry.commit(author(code), 'authorization_code.use', [
          {
            kind: AUTHORIZATION_CODE_KIND,
            id,
            tenant: code.tenant,
            expected: revision,
            body: { ...code, gave: gives },
          },
        ])
        return true
      } catch (cause) {
        if (cause instanceof RevisionConflict) return false
        throw cause
      }
    },
  }
}

function author({ tenant, person }: Consent): Author {
  return { tenant, consumer: 'system', person: person.id }
}

/** Another has cleared the same ones away. */
function ignoreRace(cause: unknown): void {
  if (!(cause instanceof RevisionConflict)) throw cause
}
