/**
 * The keys of a provider as the registry keeps them, so that a provider which is away while we start is
 * still understood. They are kept for the issuer they came from, and for no other.
 */

import { documentKind, type Author, type Registry } from '../../store/registry.ts'
import type { Published } from './discover.ts'

export interface KeptKeys {
  load(provider: string, issuer: string): Promise<Published | null>
  save(provider: KeptFor, published: Published): Promise<void>
  remove(provider: KeptFor): Promise<void>
}

export interface KeptFor {
  readonly id: string
  readonly tenant: string
  readonly issuer: string
}

interface KeptBody extends Published {
  readonly issuer: string
}

export const PROVIDER_KEYS_KIND = documentKind<KeptBody>('provider_keys')

export function createKeptKeys(registry: Registry): KeptKeys {
  async function write({ id, tenant }: KeptFor, action: string, body: KeptBody | null): Promise<void> {
    const author: Author = { tenant, consumer: 'system' }
    const expected = (await registry.get(PROVIDER_KEYS_KIND, id))?.revision ?? 0
    if (body === null && expected === 0) return
    await registry.commit(author, action, [{ kind: PROVIDER_KEYS_KIND, id, tenant, expected, body }])
  }

  return {
    async load(provider, issuer) {
      const document = await registry.get(PROVIDER_KEYS_KIND, provider)
      if (document === null || document.body.issuer !== issuer) return null
      const { jwksUri, keys } = document.body
      return { jwksUri, keys }
    },
    save: (provider, { jwksUri, keys }) =>
      write(provider, 'provider_keys.change', { issuer: provider.issuer, jwksUri, keys }),
    remove: (provider) => write(provider, 'provider_keys.remove', null),
  }
}
