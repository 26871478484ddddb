/** Composes the services of people: users, roles, sign-in, and what tokens in their name may carry. */

import type { KeyedMutex } from '../../command/keyed-mutex.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { PasswordHasher } from '../../../foundation/runtime/password-hash.ts'
import type { Registry } from '../../../storage/store/registry.ts'
import type { Secrets } from '../credential-document.ts'
import type { PersonRevocations } from '../person-revocations.ts'
import { createRoles, type Roles } from '../roles.ts'
import { createUsers, type Users } from '../users.ts'
import { createAccounts, type Accounts } from './accounts.ts'
import { createEntitlements, type Entitlements } from './entitlements.ts'
import { createFederatedPeople, type FederatedPeople } from './federated-people.ts'
import { createGranting, type Granting } from './granting.ts'
import type { LoginThrottle } from './login-throttle.ts'
import { createOneTimeLinks } from './one-time-links.ts'
import { createPersonGrants, type GrantPerson } from './person-grants.ts'
import { createPersonSubscriptions } from './person-subscriptions.ts'
import { createSecondFactors, type SecondFactors } from './second-factors.ts'
import { createSignIn, type SignIn } from './sign-in.ts'

export interface People {
  readonly users: Users
  readonly roles: Roles
  readonly accounts: Accounts
  readonly signIn: SignIn
  readonly secondFactors: SecondFactors
  readonly entitlements: Entitlements
  readonly granting: Granting
  readonly federated: FederatedPeople
  readonly grantPerson: GrantPerson
}

export interface PeopleOptions extends Secrets {
  readonly registry: Registry
  readonly passwords: PasswordHasher
  readonly revocations: PersonRevocations
  readonly clock: Pick<Clock, 'nowMs'>
  readonly mutex: KeyedMutex
  readonly throttle: LoginThrottle
  /** Whether the policy of the tenant requires a second factor. */
  readonly isRequired: (tenant: string) => Promise<boolean>
  readonly gatewayUrl: string
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
  /** The tenant of the operator. */
  readonly operator: string
}

export function createPeople(options: PeopleOptions): People {
  const { vault, clock } = options
  const links = createOneTimeLinks({ ...options, keyedHash: vault.keyedHash, nowMs: clock.nowMs })
  const entitlements = createEntitlements(options)
  const granting = createGranting({ ...options, entitlements })
  const secondFactors = createSecondFactors(options)
  const signIn = createSignIn({ ...options, links })
  return {
    users: createUsers({ ...options, links, granting }),
    roles: createRoles({ ...options, entitlements, granting }),
    accounts: createAccounts({ ...options, secondFactors }),
    signIn,
    secondFactors,
    entitlements,
    granting,
    federated: createFederatedPeople(options),
    grantPerson: createPersonGrants({
      ...options,
      signIn,
      entitlements,
      subscriptionOf: createPersonSubscriptions(options),
    }),
  }
}
