/**
 * The second factor of people: TOTP with recovery codes.
 *
 * The secret is stored encrypted, recovery codes as keyed hashes. Each code works once: compare-and-set on the user makes the use of
 * a step, or of a recovery code, exclusive. A secret counts only after a code has confirmed it.
 */

import { Problem } from '../../../foundation/domain/problem.ts'
import { CHANGED, find } from '../../command/commands.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { RevisionConflict, type Author, type Document, type Registry } from '../../../storage/store/registry.ts'
import type { Secrets } from '../credential-document.ts'
import { createTotpSecret, totpStep, totpUri } from '../second-factor/totp.ts'
import { USER_KIND, userWrite, type TotpBody, type UserBody } from './user-document.ts'

export interface TotpSecret {
  /** In base 32. */
  readonly secret: string
  readonly uri: string
}

export interface SecondFactors {
  /** `enrol`: the policy of the tenant requires a second factor, and the person has none. */
  stateOf(tenant: string, id: string): Promise<'none' | 'totp' | 'enrol'>
  newSecret(username: string): TotpSecret
  /** Stores a secret that `confirm` puts into force; an earlier one that is not in force is replaced. */
  begin(author: Author, id: string): Promise<TotpSecret>
  /** Puts the stored secret, or the given one, into force. Returns the recovery codes; null if the code is wrong. */
  confirm(author: Author, id: string, code: string, secret?: string): Promise<readonly string[] | null>
  remove(author: Author, id: string): Promise<void>
  /** Uses up a code of the app or a recovery code; returns whether it is right. */
  use(tenant: string, id: string, code: string): Promise<boolean>
}

export interface SecondFactorsOptions extends Pick<Secrets, 'vault' | 'randomBytes'> {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  /** Whether the policy of the tenant requires a second factor. */
  readonly isRequired: (tenant: string) => Promise<boolean>
}

const RECOVERY_CODES = 10
/** 80 bits, as 16 characters of base 32. */
const RECOVERY_BYTES = 10
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const CODE_LENGTH_MAX = 32

export function createSecondFactors(options: SecondFactorsOptions): SecondFactors {
  const { registry, vault, clock, randomBytes, isRequired } = options

  return {
    async stateOf(tenant, id) {
      const { body } = await find(registry, tenant, USER_KIND, id)
      if (hasTotp(body)) return 'totp'
      return (await isRequired(tenant)) ? 'enrol' : 'none'
    },
    newSecret(username) {
      const secret = createTotpSecret(randomBytes)
      return { secret, uri: totpUri(secret, username) }
    },
    async begin(author, id) {
      const user = await find(registry, author.tenant, USER_KIND, id)
      if (hasTotp(user.body)) throw isSetUp()
      const secret = createTotpSecret(randomBytes)
      const pendingTotp = vault.encrypt(secret, contextOf(id))
      if (!(await write(options, user, author, 'user.totp.begin', { pendingTotp }))) throw changed()
      return { secret, uri: totpUri(secret, user.body.username) }
    },
    async confirm(author, id, code, given) {
      const user = await find(registry, author.tenant, USER_KIND, id)
      const { body } = user
      if (hasTotp(body)) throw isSetUp()
      const pending = given === undefined ? body.pendingTotp : vault.encrypt(given, contextOf(id))
      if (pending === undefined || pending === null) throw noSecret()
      const step = totpStep(vault.decrypt(pending, contextOf(id)), code, clock.nowMs(), 0)
      if (step === null) return null
      const codes = Array.from({ length: RECOVERY_CODES }, () => createRecoveryCode(randomBytes))
      const totp: TotpBody = { secret: pending, lastStep: step, recovery: codes.map((each) => hashOf(options, each)) }
      if (!(await write(options, user, author, 'user.totp.confirm', { totp, pendingTotp: null }))) throw changed()
      return codes
    },
    async remove(author, id) {
      const user = await find(registry, author.tenant, USER_KIND, id)
      if (await isRequired(author.tenant)) {
        const extensions = { state: 'totp', allowed: [] }
        throw new Problem('state_conflict', 'The policy of the tenant requires a second factor.', { extensions })
      }
      if (!(await write(options, user, author, 'user.totp.remove', { totp: null, pendingTotp: null }))) throw changed()
    },
    async use(tenant, id, code) {
      const user = await find(registry, tenant, USER_KIND, id)
      const totp = code.length > CODE_LENGTH_MAX ? null : usedTotp(options, user, code)
      const author = { tenant, consumer: 'system', person: id }
      return totp !== null && write(options, user, author, 'user.totp.use', { totp })
    },
  }
}

/** Returns the second factor after the use of a code; null if the code is wrong. */
function usedTotp(options: SecondFactorsOptions, { id, body }: Document<UserBody>, code: string): TotpBody | null {
  const { totp } = body
  if (totp === undefined || totp === null || body.disabled === true) return null
  const secret = options.vault.decrypt(totp.secret, contextOf(id))
  const step = totpStep(secret, code.trim(), options.clock.nowMs(), totp.lastStep)
  if (step !== null) return { ...totp, lastStep: step }
  const used = hashOf(options, code)
  return totp.recovery.includes(used) ? { ...totp, recovery: totp.recovery.filter((hash) => hash !== used) } : null
}

/** Returns false if the user was changed meanwhile. */
async function write(
  { registry }: SecondFactorsOptions,
  { id, tenant, revision, body }: Document<UserBody>,
  author: Author,
  action: string,
  change: Partial<UserBody>,
): Promise<boolean> {
  try {
    await registry.commit(author, action, [userWrite(id, tenant, revision, { ...body, ...change })])
    return true
  } catch (cause) {
    if (cause instanceof RevisionConflict) return false
    throw cause
  }
}

function hasTotp({ totp }: UserBody): boolean {
  return totp !== undefined && totp !== null
}

function changed(): Problem {
  return new Problem('state_conflict', 'The user was changed by another request. Retry.', { extensions: CHANGED })
}

/** The states are those of `secondFactor` of an account. */
function isSetUp(): Problem {
  const extensions = { state: 'totp', allowed: ['remove-totp'] } as const
  return new Problem('state_conflict', 'The second factor is set up. Remove it first.', { extensions })
}

function noSecret(): Problem {
  return new Problem('state_conflict', 'Request a secret first.', {
    extensions: { state: 'none', allowed: ['set-up-totp'] },
  })
}

function contextOf(id: string): string {
  return `totp ${id}`
}

/** Returns `XXXX-XXXX-XXXX-XXXX`. */
function createRecoveryCode(randomBytes: (size: number) => Buffer): string {
  let bits = 0n
  for (const byte of randomBytes(RECOVERY_BYTES)) bits = (bits << 8n) | BigInt(byte)
  let text = ''
  for (let at = 0; at < 16; at++, bits >>= 5n) text += ALPHABET[Number(bits & 31n)]
  return text.replace(/(.{4})(?=.)/g, '$1-')
}

/** Ignores case, spaces and hyphens, because people copy these codes from paper. */
function hashOf({ vault }: SecondFactorsOptions, code: string): string {
  return vault.keyedHash(`recovery code ${code.toUpperCase().replaceAll(/[\s-]/g, '')}`)
}
