/**
 * Decides what a token may carry that is issued for a person.
 *
 * At the platform API a person has the scopes of their roles; at every other API all scopes of the client.
 */

import { PLATFORM_API } from '../../domain/platform-api.ts'
import type { PersonRevocations } from '../person-revocations.ts'
import type { Entitlements } from './entitlements.ts'
import type { Person, SignIn } from './sign-in.ts'

export interface PersonGrant {
  /** The scopes that the person is entitled to; null: all scopes of the client. */
  readonly scopes: ReadonlySet<string> | null
  /** False if access of the person was taken away since; a token that was created meanwhile must not be issued. */
  isCurrent(): boolean
}

/** Returns null if the person may no longer use the login that `person` comes from. */
export type GrantPerson = (
  tenant: string,
  api: string,
  person: Pick<Person, 'id' | 'epoch'>,
) => Promise<PersonGrant | null>

export interface PersonGrantsOptions {
  readonly signIn: Pick<SignIn, 'find'>
  readonly entitlements: Pick<Entitlements, 'ofUser'>
  readonly revocations: Pick<PersonRevocations, 'markOf'>
}

export function createPersonGrants({ signIn, entitlements, revocations }: PersonGrantsOptions): GrantPerson {
  return async (tenant, api, { id, epoch }) => {
    // Read first: a change that is stored after this line also changes the mark.
    const mark = revocations.markOf(id)
    const current = await signIn.find(tenant, id)
    if (current === null || current.epoch !== epoch) return null
    const entitlement = api === PLATFORM_API ? await entitlements.ofUser(tenant, id) : null
    return {
      scopes: api === PLATFORM_API ? (entitlement?.scopes ?? new Set()) : null,
      isCurrent: () => revocations.markOf(id) === mark,
    }
  }
}
