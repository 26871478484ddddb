/**
 * Decides who may use the console: everybody, except people of consumers in a tenant whose portal is off.
 *
 * Such a person has scopes of the own width only. The platform API itself still serves their tokens to other clients.
 */

import { isOwnScope } from '../../foundation/domain/scope-width.ts'
import { claimsOf } from './token-claims.ts'

export interface Admission {
  /** `token`: an access token of this service, which has been verified or issued a moment ago. */
  admits(token: string): Promise<boolean>
}

export interface AdmissionOptions {
  readonly isPortalOn: (tenant: string) => Promise<boolean>
}

export function createAdmission({ isPortalOn }: AdmissionOptions): Admission {
  return {
    async admits(token) {
      const { scope, tenant } = claimsOf(token)
      return !isOfPortal(String(scope).split(' ')) || isPortalOn(String(tenant))
    },
  }
}

/** Whether all scopes concern a consumer, or the own account. */
function isOfPortal(scopes: readonly string[]): boolean {
  return scopes.every((scope) => isOwnScope(scope) || scope.startsWith('me:'))
}
