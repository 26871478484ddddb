/**
 * Clients that are known by the URL of a metadata document, which is fetched when such a client appears.
 *
 * Anyone can name a URL here, so fetches go through the address guard, follow no redirects, and are bounded in size, time
 * and number (`fetch-budget.ts`). Concurrent requests for one client share a fetch. A document is kept for ten minutes,
 * and one that cannot be used is not fetched again for half a minute. While there are too many fetches, a document counts
 * for up to an hour more, so that strangers who exhaust the number do not lock out the people of a client in use.
 */

import { toSharedClientGrant } from '../../../boundary/plan/grant.ts'
import type { GuardedFetch, OutboundResult } from '../../../foundation/outbound/guarded-fetch.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../../foundation/runtime/event-reasons.ts'
import type { RegisteredClient } from '../client-authentication.ts'
import { createFetchBudget } from './fetch-budget.ts'
import { isMetadataUrl, readMetadata, type ClientMetadata } from './metadata-document.ts'

export interface MetadataClientsOptions {
  readonly fetch: GuardedFetch['fetch']
  /** Allows private addresses, plain http and any port. */
  readonly allowPrivate: boolean
  readonly clock: Pick<Clock, 'nowMs'>
  readonly count: CountEvent
}

/** Returns null if the id is no such URL, or its document cannot be used. The tenant of the person is part of the sign-in. */
export type FindMetadataClient = (clientId: string, tenant: string) => Promise<RegisteredClient | null>

interface Known {
  readonly metadata: ClientMetadata | null
  readonly untilMs: number
}

const KEPT_MS = 600_000
/** After that, while there are too many fetches. */
const STALE_MS = 3_600_000
const FAULT_KEPT_MS = 30_000
const KNOWN_MAX = 500
const BYTES_MAX = 16_384
const TIMEOUT_MS = 3_000

export function createMetadataClients(options: MetadataClientsOptions): FindMetadataClient {
  const { clock, count, allowPrivate } = options
  const budget = createFetchBudget(clock.nowMs)
  /** The one whose last use is oldest comes first. */
  const known = new Map<string, Known>()
  const pending = new Map<string, Promise<ClientMetadata | null>>()

  async function load(clientId: string): Promise<ClientMetadata | null> {
    const end = budget.take(new URL(clientId).host)
    if (end === null) {
      count('client_metadata_busy')
      return staleOf(clientId)
    }
    try {
      const metadata = await fetchMetadata(options, clientId)
      if (metadata === null) count('client_metadata_failed')
      keep(clientId, { metadata, untilMs: clock.nowMs() + (metadata === null ? FAULT_KEPT_MS : KEPT_MS) })
      return metadata
    } finally {
      end()
    }
  }

  function keep(clientId: string, each: Known): void {
    known.delete(clientId)
    known.set(clientId, each)
    for (const oldest of known.keys()) if (known.size > KNOWN_MAX) known.delete(oldest)
  }

  function staleOf(clientId: string): ClientMetadata | null {
    const kept = known.get(clientId)
    return kept !== undefined && kept.untilMs + STALE_MS > clock.nowMs() ? kept.metadata : null
  }

  function metadataOf(clientId: string): Promise<ClientMetadata | null> {
    const loading = pending.get(clientId)
    if (loading !== undefined) return loading
    const loaded = load(clientId).finally(() => pending.delete(clientId))
    pending.set(clientId, loaded)
    return loaded
  }

  return async (clientId, tenant) => {
    if (!isMetadataUrl(clientId, allowPrivate)) return null
    const kept = known.get(clientId)
    if (kept !== undefined) keep(clientId, kept)
    const isKept = kept !== undefined && kept.untilMs > clock.nowMs()
    const metadata = isKept ? kept.metadata : await metadataOf(clientId)
    if (metadata === null) return null
    const { name, redirectUris } = metadata
    return {
      grant: toSharedClientGrant(tenant, name),
      secretHash: '',
      redirectUris,
      mayRefresh: false,
      asksOrganisation: true,
    }
  }
}

async function fetchMetadata({ fetch }: MetadataClientsOptions, clientId: string): Promise<ClientMetadata | null> {
  // Content delivery networks refuse requests without a user agent.
  const headers = { accept: 'application/json', 'user-agent': 'tollgate-clients/1' }
  const result = await fetch({ url: clientId, headers, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX })
  if (!isJson(result)) return null
  const metadata = readMetadata(clientId, result.body)
  return 'fault' in metadata ? null : metadata
}

function isJson(result: OutboundResult): result is OutboundResult & { readonly kind: 'answered' } {
  if (result.kind === 'failed' || result.status !== 200) return false
  const type = result.headers['content-type']
  return typeof type === 'string' && /^application\/(?:[a-z0-9.-]+\+)?json *(?:;|$)/i.test(type)
}
