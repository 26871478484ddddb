/**
 * Ends the authorization codes of a client, and the access tokens that they gave.
 *
 * A code that is unused is deleted at its revision: of a concurrent use and this deletion one fails, and a use that came
 * first is found when the code is read again.
 */

import { listAll } from '../command/page.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { RevisionConflict, type Document, type Registry } from '../../storage/store/registry.ts'
import { AUTHORIZATION_CODE_KIND, type CodeBody, type GivenToken } from './authorization-codes.ts'

export type EndCodes = (tenant: string, clientId: string) => Promise<void>

export interface ClientCodesOptions {
  readonly registry: Registry
  /** Resolves when every gateway thread refuses the token. */
  readonly revoke: (token: GivenToken & { readonly tenant: string; readonly credential: string }) => Promise<void>
  readonly clock: Pick<Clock, 'nowMs'>
}

export function createEndCodes(options: ClientCodesOptions): EndCodes {
  const { registry } = options
  return async (tenant, clientId) => {
    for await (const code of listAll(registry, AUTHORIZATION_CODE_KIND, { tenant, where: { client: clientId } })) {
      await endCode(options, code)
    }
  }
}

async function endCode({ registry, revoke, clock }: ClientCodesOptions, listed: Document<CodeBody>): Promise<void> {
  const { kind, id, tenant } = listed
  // A code changes once, when it is used, so that the second attempt finds it used or gone.
  for (let code: Document<CodeBody> | null = listed; code !== null;) {
    const { gave, credential, person } = code.body
    if (gave !== null) {
      if (gave.expiresAtMs > clock.nowMs()) await revoke({ tenant, credential: credential || person.id, ...gave })
      return
    }
    const write = { kind, id, tenant, expected: code.revision, body: null }
    try {
      await registry.commit({ tenant, consumer: 'system' }, 'authorization_code.forget', [write])
      return
    } catch (cause) {
      if (!(cause instanceof RevisionConflict)) throw cause
    }
    code = await registry.get(AUTHORIZATION_CODE_KIND, id)
  }
}
