/** The names of consumers by their ids. */

import type { Registry } from '../../storage/store/registry.ts'
import { CONSUMER_KIND } from './consumer-document.ts'

/** Leaves out consumers that the tenant does not have. */
export type ConsumerNames = (
  tenant: string,
  ids: readonly string[],
) => Promise<readonly { readonly id: string; readonly name: string }[]>

export function createConsumerNames({ registry }: { readonly registry: Pick<Registry, 'get'> }): ConsumerNames {
  return async (tenant, ids) => {
    const found = await Promise.all(ids.map((id) => registry.get(CONSUMER_KIND, id)))
    return found.flatMap((each) => (each?.tenant === tenant ? [{ id: each.id, name: each.body.name }] : []))
  }
}
