/**
 * One-time links, with which a person sets a password: `{gatewayUrl}/oauth2/v2/password?link={user}.{secret}`.
 *
 * Only a keyed hash of the secret is stored. A user has one open link at most, and compare-and-set on the user makes its use
 * exclusive.
 */

import { isSameHash } from '../../../boundary/plan/credential-format.ts'
import { toTime } from '../../command/commands.ts'
import type { OneTimeLink, UserBody } from './user-document.ts'

/** A link as the API returns it, once. */
export interface Invitation {
  readonly url: string
  readonly expiresAt: string
}

export interface NewLink {
  readonly stored: OneTimeLink
  readonly shown: Invitation
}

export interface LinkText {
  readonly user: string
  readonly secret: string
}

export interface OneTimeLinksOptions {
  readonly keyedHash: (text: string) => string
  readonly randomBytes: (size: number) => Buffer
  readonly nowMs: () => number
  readonly gatewayUrl: string
}

export interface OneTimeLinks {
  create(user: string, lifetimeMs: number): NewLink
  /** Whether the link of `body` is open and has this secret. */
  opens(body: UserBody, secret: string): boolean
}

export const INVITATION_MS = 72 * 3_600_000
export const RESET_MS = 3_600_000
const SECRET_BYTES = 32
const TEXT = /^(usr_[0-9a-z]{26})\.([A-Za-z0-9_-]{43})$/

export function createOneTimeLinks(options: OneTimeLinksOptions): OneTimeLinks {
  const { keyedHash, randomBytes, nowMs, gatewayUrl } = options
  // The prefix separates these hashes from those of client secrets and keys.
  const hashOf = (secret: string): string => keyedHash(`one-time link ${secret}`)

  return {
    create(user, lifetimeMs) {
      const secret = randomBytes(SECRET_BYTES).toString('base64url')
      const expiresAtMs = nowMs() + lifetimeMs
      return {
        stored: { secretHash: hashOf(secret), expiresAtMs },
        shown: { url: `${gatewayUrl}/oauth2/v2/password?link=${user}.${secret}`, expiresAt: toTime(expiresAtMs) },
      }
    },
    opens({ link, disabled }, secret) {
      if (link === undefined || link === null || disabled === true) return false
      return isSameHash(hashOf(secret), link.secretHash) && link.expiresAtMs > nowMs()
    },
  }
}

/** Returns null if the text does not have the form of a link. */
export function readLink(text: string): LinkText | null {
  const [, user, secret] = TEXT.exec(text) ?? []
  return user === undefined || secret === undefined ? null : { user, secret }
}
