/**
 * Stores the last keys of each provider, so that they are available after a restart while the provider is unreachable.
 * Stored keys are used only for the issuer that published them.
 */

import { documentKind, RevisionConflict, type Author, type Registry } from '../../../storage/store/registry.ts'
import type { Published } from './discover.ts'

export interface ProviderKeyStore {
  load(provider: string, issuer: string): Promise<Published | null>
  save(provider: StoredProvider, published: Published): Promise<void>
  remove(provider: StoredProvider): Promise<void>
}

export interface StoredProvider {
  readonly id: string
  readonly tenant: string
  readonly issuer: string
}

interface StoredKeysBody extends Omit<Published, 'signIn'> {
  readonly issuer: string
  /** Missing if the keys were stored before people could sign in. */
  readonly signIn?: Published['signIn']
}

export const PROVIDER_KEYS_KIND = documentKind<StoredKeysBody>('provider_keys', 'hidden')
const ATTEMPTS_MAX = 3

export function createProviderKeyStore(registry: Registry): ProviderKeyStore {
  /** Several nodes fetch the same keys: the first one stores them. */
  async function write({ id, tenant }: StoredProvider, action: string, body: StoredKeysBody | null): Promise<void> {
    const author: Author = { tenant, consumer: 'system' }
    for (let attempt = 1; ; attempt++) {
      const stored = await registry.get(PROVIDER_KEYS_KIND, id)
      if (isSame(stored?.body ?? null, body)) return
      try {
        const expected = stored?.revision ?? 0
        return await registry.commit(author, action, [{ kind: PROVIDER_KEYS_KIND, id, tenant, expected, body }])
      } catch (cause) {
        if (!(cause instanceof RevisionConflict) || attempt === ATTEMPTS_MAX) throw cause
      }
    }
  }

  return {
    async load(provider, issuer) {
      const document = await registry.get(PROVIDER_KEYS_KIND, provider)
      if (document === null || document.body.issuer !== issuer) return null
      const { jwksUri, keys, signIn = null } = document.body
      return { jwksUri, keys, signIn }
    },
    save: (provider, { jwksUri, keys, signIn }) =>
      write(provider, 'provider_keys.change', { issuer: provider.issuer, jwksUri, keys, signIn }),
    remove: (provider) => write(provider, 'provider_keys.remove', null),
  }
}

/** The order of members is that of this file, and survives the registry. */
function isSame(one: StoredKeysBody | null, other: StoredKeysBody | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
