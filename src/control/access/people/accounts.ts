/**
 * The own account of a person: name, password and second factor.
 *
 * A change of the password needs the present one, and the removal of the second factor a code. Attempts are throttled like sign-ins,
 * apart from them, so that neither delays the other.
 */

import { Problem } from '../../../foundation/domain/problem.ts'
import { commit, find, invalidAt } from '../../command/commands.ts'
import type { PasswordHasher } from '../../../foundation/runtime/password-hash.ts'
import type { Author, Registry, Write } from '../../../storage/store/registry.ts'
import type { PersonRevocations } from '../person-revocations.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { SecondFactors, TotpSecret } from './second-factors.ts'
import { showUser, USER_KIND, userWrite, type User, type UserBody } from './user-document.ts'

export interface Account extends User {
  readonly secondFactor: 'none' | 'totp'
}

/** The author of a call in a person's name. */
export interface PersonAuthor extends Author {
  readonly person: string
}

export interface Accounts {
  get(author: PersonAuthor): Promise<Account>
  rename(author: PersonAuthor, name: string): Promise<Account>
  /** Earlier tokens of the person are refused when this resolves. */
  changePassword(author: PersonAuthor, oldPassword: string, newPassword: string): Promise<void>
  beginTotp(author: PersonAuthor): Promise<TotpSecret>
  /** Returns the recovery codes. */
  confirmTotp(author: PersonAuthor, code: string): Promise<readonly string[]>
  /** Uses up a code of the second factor. */
  removeTotp(author: PersonAuthor, code: string): Promise<void>
}

export interface AccountsOptions {
  readonly registry: Registry
  readonly passwords: PasswordHasher
  readonly secondFactors: SecondFactors
  readonly throttle: LoginThrottle
  readonly revocations: Pick<PersonRevocations, 'revoke' | 'createDue'>
}

export function createAccounts(options: AccountsOptions): Accounts {
  const { registry, passwords, secondFactors, revocations } = options
  const userOf = ({ tenant, person }: PersonAuthor) => find(registry, tenant, USER_KIND, person)
  const checkOwnLogin = async (author: PersonAuthor) => checkHasPassword((await userOf(author)).body)

  async function get(author: PersonAuthor): Promise<Account> {
    const user = await userOf(author)
    const { totp } = user.body
    return { ...showUser(user), secondFactor: totp === undefined || totp === null ? 'none' : 'totp' }
  }

  async function change(
    author: PersonAuthor,
    action: string,
    to: (body: UserBody) => UserBody,
    more: readonly Write[] = [],
  ): Promise<void> {
    const { id, tenant, revision, body } = await userOf(author)
    await commit(registry, author, action, [userWrite(id, tenant, revision, to(body)), ...more])
  }

  return {
    get,
    async rename(author, name) {
      await change(author, 'user.update', (body) => ({ ...body, name }))
      return get(author)
    },
    async changePassword(author, oldPassword, newPassword) {
      await checkOwnLogin(author)
      await attempt(options.throttle, `password ${author.person}`, async () => {
        const { body } = await userOf(author)
        if (await passwords.verify(oldPassword, body.passwordHash)) return
        throw invalidAt('/oldPassword', 'The password is wrong.')
      })
      const passwordHash = await passwords.hash(newPassword)
      const due = revocations.createDue(author.tenant, [author.person])
      const to = (body: UserBody): UserBody => ({ ...body, passwordHash, link: null, epoch: (body.epoch ?? 0) + 1 })
      await change(author, 'user.password', to, [due.write])
      await revocations.revoke(author.tenant, [author.person], due)
    },
    async beginTotp(author) {
      await checkOwnLogin(author)
      return secondFactors.begin(author, author.person)
    },
    confirmTotp: (author, code) =>
      attempt(options.throttle, `code ${author.person}`, async () => {
        const codes = await secondFactors.confirm(author, author.person, code)
        if (codes === null) throw invalidAt('/code', 'The code is wrong or too old.')
        return codes
      }),
    async removeTotp(author, code) {
      await attempt(options.throttle, `code ${author.person}`, async () => {
        if (await secondFactors.use(author.tenant, author.person, code)) return
        throw invalidAt('/x-second-factor', 'The code is missing or wrong, or there is no second factor.')
      })
      await secondFactors.remove(author, author.person)
    },
  }
}

/** Throws 409 for a person whom an identity provider signs in. */
export function checkHasPassword({ identity }: UserBody): void {
  if (identity === undefined) return
  const detail = 'An identity provider signs this person in. The password and the second factor are managed there.'
  throw new Problem('state_conflict', detail, { extensions: { state: 'federated', allowed: [] } })
}

/** Runs a check; one that fails counts, and above the limit it is refused without a comparison. */
async function attempt<T>(throttle: LoginThrottle, key: string, check: () => Promise<T>): Promise<T> {
  // Counted before the comparison, so that concurrent attempts count like consecutive ones.
  const waitSeconds = await throttle.begin(key)
  if (waitSeconds > 0) {
    const detail = `Too many attempts. Retry in ${waitSeconds} seconds.`
    throw new Problem('rate_limited', detail, { retryAfterSeconds: waitSeconds })
  }
  const result = await check()
  await throttle.succeed(key)
  return result
}
