/** `/v1/me`: the own account of a person, for tokens in the name of a person alone. */

import type { Accounts, PersonAuthor } from '../../control/access/people/accounts.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Call, Handlers, Operations } from './operation.ts'
import { name, named, object, scopeNames, text } from './schemas.ts'
import { password, userFields } from './users.ts'

const account = named('Account', object({ ...userFields, secondFactor: { type: 'string', enum: ['none', 'totp'] } }))
/** A client shows only what the person may do with it. */
const ownAccount = named(
  'OwnAccount',
  object({
    ...account.properties,
    scopes: { ...scopeNames, description: 'The scopes of the token.' },
    isOperator: {
      type: 'boolean',
      description: 'Whether the tenant is that of the operator, which alone may read `/v1/settings` and `/v1/health`.',
    },
  }),
)
/** A password that is compared may be any text. */
const present = { type: 'string', minLength: 1, maxLength: 256, writeOnly: true } as const
const code = {
  type: 'string',
  maxLength: 6,
  pattern: '^[0-9]{6}$',
  description: 'The code that the authenticator app shows.',
} as const
const reading = { method: 'GET', tag: 'Users', scope: 'me:read', status: 200 } as const
const writing = { tag: 'Users', scope: 'me:write', status: 200, problems: ['operation_forbidden'] } as const

export const ME_OPERATIONS = {
  getMe: {
    ...reading,
    path: '/v1/me',
    summary: 'Returns the account of the person in whose name the token was issued, and the scopes of the token',
    answer: ownAccount,
    problems: ['operation_forbidden', 'not_found'],
  },
  updateMe: {
    ...writing,
    method: 'PATCH',
    path: '/v1/me',
    summary: 'Changes the name of the person',
    body: named('AccountChange', object({ name })),
    answer: account,
    problems: ['operation_forbidden', 'not_found'],
    changes: 'getMe',
  },
  changePassword: {
    ...writing,
    method: 'PUT',
    path: '/v1/me/password',
    summary: 'Changes the password; earlier tokens of the person are refused once this call returns',
    description: 'Attempts with a wrong password are limited to ten in 15 minutes.',
    body: named('PasswordChange', object({ oldPassword: present, newPassword: password })),
    status: 204,
    problems: ['operation_forbidden', 'not_found', 'state_conflict', 'unavailable'],
    changes: 'getMe',
  },
  setUpTotp: {
    ...writing,
    method: 'POST',
    path: '/v1/me/totp',
    summary: 'Sets up a second factor: without a code returns a secret, with a code confirms it',
    description:
      'The first call returns `secret` and `uri` for an authenticator app. The second call has a code of the app and returns ' +
      '`recoveryCodes`, each of which replaces a code once. From then on a sign-in asks for a code.',
    body: { ...named('TotpInput', object({ code }, [])), type: ['object', 'null'] },
    answer: named('TotpSetup', object({ secret: text, uri: text, recoveryCodes: { type: 'array', items: text } }, [])),
    problems: ['operation_forbidden', 'not_found', 'state_conflict'],
    changes: 'getMe',
  },
  removeTotp: {
    ...writing,
    method: 'DELETE',
    path: '/v1/me/totp',
    summary: 'Removes the second factor, unless the policy of the tenant requires one',
    headers: {
      'X-Second-Factor': {
        type: 'string',
        maxLength: 32,
        description: 'A code of the authenticator app or a recovery code, which is used up. Required.',
      },
    },
    status: 204,
    problems: ['operation_forbidden', 'not_found', 'state_conflict', 'unavailable'],
    changes: 'getMe',
  },
} as const satisfies Operations

export interface MeHandlersOptions {
  readonly accounts: Accounts
  /** The tenant of the operator. */
  readonly operator: string
}

export function meHandlers({ accounts, operator }: MeHandlersOptions): Handlers<typeof ME_OPERATIONS> {
  return {
    getMe: async (call) => ({
      ...(await accounts.get(personOf(call))),
      scopes: [...call.caller.scopes].sort(),
      isOperator: call.author.tenant === operator,
    }),
    updateMe: async (call) => accounts.rename(personOf(call), call.body.name),
    changePassword: async (call) =>
      accounts.changePassword(personOf(call), call.body.oldPassword, call.body.newPassword),
    async setUpTotp(call, reply) {
      void reply.header('Cache-Control', 'no-store')
      const author = personOf(call)
      const { code: given } = call.body ?? {}
      if (given === undefined) return accounts.beginTotp(author)
      return { recoveryCodes: await accounts.confirmTotp(author, given) }
    },
    async removeTotp(call) {
      const code = call.request.headers['x-second-factor']
      return accounts.removeTotp(personOf(call), typeof code === 'string' ? code : '')
    },
  }
}

/** Throws 403 if the token was not issued in the name of a user of this service. */
export function personOf({ author, caller }: Pick<Call, 'author' | 'caller'>): PersonAuthor {
  const { person } = author
  // The subject of a federated token may have the id of a user by chance or on purpose.
  if (person === undefined || caller.grant.type === 'Federated') {
    throw new Problem('operation_forbidden', 'This operation requires a token that was issued in the name of a user.')
  }
  return { ...author, person }
}
