/**
 * Withdraws declarations that were never in force.
 *
 * A declaration is in force as soon as a revision of its API serves calls. From then on it stays, also after a newer one has
 * superseded it, because bills refer to it.
 */

import { commit, find } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { Author, Registry } from '../../storage/store/registry.ts'
import { API_KIND, apiWrite } from './apis.ts'
import { declaredRemoval } from './declared-fields.ts'
import { contentRemoval } from './published-content.ts'
import { OPENSLA_SPEC_KIND } from './specifications.ts'

export interface DeclarationRemoval {
  /** Throws `Problem('state_conflict')` if the declaration is or was in force. */
  remove(author: Author, id: string): Promise<void>
}

export interface DeclarationRemovalOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'withdraw'>
  readonly mutex: KeyedMutex
}

export function createDeclarationRemoval(options: DeclarationRemovalOptions): DeclarationRemoval {
  const { registry, mutex } = options

  return {
    async remove(author, id) {
      const { body } = await find(registry, author.tenant, OPENSLA_SPEC_KIND, id)
      await mutex.runExclusive([body.api], () => remove(options, author, id))
    },
  }
}

async function remove({ registry, gateway }: DeclarationRemovalOptions, author: Author, id: string): Promise<void> {
  const { tenant, revision, body } = await find(registry, author.tenant, OPENSLA_SPEC_KIND, id)
  const entry = await registry.get(API_KIND, body.api)
  if (entry?.tenant !== tenant || entry.body.state !== 'Prospect') {
    const detail = 'The declaration is or was in force, and bills refer to it. Declare a new version instead.'
    const state = body.inForce ? 'in force' : 'superseded'
    throw new Problem('state_conflict', detail, { extensions: { state, allowed: [] } })
  }
  await commit(registry, author, 'openslaspec.remove', [
    { kind: OPENSLA_SPEC_KIND, id, tenant, expected: revision, body: null },
    ...(await contentRemoval(registry, tenant, id)),
    ...(await declaredRemoval(registry, tenant, id)),
    // An unchanged write of the entry, so that a concurrent activation fails.
    apiWrite(body.api, tenant, entry.revision, entry.body),
  ])
  // No thread serves the API yet. The first activation restores the declarations that remain.
  await gateway.withdraw(body.api)
}
