/** Returns which ids are consumers of a tenant. */

import type { Registry } from '../../storage/store/registry.ts'
import { CONSUMER_KIND } from './consumer-document.ts'

export function createKnownConsumers({ registry }: { readonly registry: Pick<Registry, 'getEach'> }) {
  return async (tenant: string, ids: readonly string[]): Promise<ReadonlySet<string>> => {
    const found = await registry.getEach(CONSUMER_KIND, ids)
    return new Set([...found].filter(([, consumer]) => consumer.tenant === tenant).map(([id]) => id))
  }
}
