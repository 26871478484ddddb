/** The public addresses at which the service was last started; for commands that work while it is stopped. */

import type { Author, Registry } from '../../storage/store/registry.ts'
import { documentKind, RevisionConflict } from '../../storage/store/registry.ts'
import { StoreUnwritable } from '../../storage/store/unwritable.ts'

export interface ServiceAddress {
  readonly gatewayUrl: string
  readonly baseUrl: string
}

const SERVICE_ADDRESS_KIND = documentKind<ServiceAddress>('service_address', 'hidden')
const ID = 'service'

/** Returns null if no start has noted them. */
export async function readServiceAddress(registry: Pick<Registry, 'get'>): Promise<ServiceAddress | null> {
  return (await registry.get(SERVICE_ADDRESS_KIND, ID))?.body ?? null
}

export async function noteServiceAddress(
  registry: Pick<Registry, 'get' | 'commit'>,
  author: Author,
  { gatewayUrl, baseUrl }: ServiceAddress,
): Promise<void> {
  const known = await registry.get(SERVICE_ADDRESS_KIND, ID)
  if (known?.body.gatewayUrl === gatewayUrl && known.body.baseUrl === baseUrl) return
  const write = {
    kind: SERVICE_ADDRESS_KIND,
    id: ID,
    tenant: author.tenant,
    expected: known?.revision ?? 0,
    body: { gatewayUrl, baseUrl },
  }
  try {
    await registry.commit(author, 'service.address', [write])
  } catch (cause) {
    // Another node has just noted its own, or the disk is full: a start needs neither.
    if (!(cause instanceof RevisionConflict || cause instanceof StoreUnwritable)) throw cause
  }
}
