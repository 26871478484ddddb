/** The catalogue: one entry per major version of an API, created by its first deployment. */

import { apiLifecycle, type ApiState } from './api-machine.ts'
import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import { commit, find } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { CorsPlan } from '../../boundary/plan/cors.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'

export type { ApiState } from './api-machine.ts'

export interface ApiBody extends Labelled {
  readonly title: string
  readonly major: number
  readonly version: string
  readonly state: ApiState
  /** Missing in entries of earlier versions, whose state is sufficient. */
  readonly actor?: PersistedActor
  readonly owner: string
  readonly complianceScore: number | null
  readonly programme: string | null
  /** Missing if the API is not deprecated. */
  readonly deprecatedAt?: string
  readonly retirementDate: string | null
  readonly successor: string | null
  /** Scopes of an API that no proxy serves: the platform's own. */
  readonly ownScopes?: readonly string[]
  /** Copy of `mcp` in the policy of the API; missing if it is off. */
  readonly isMcpOn?: true
  /** `cors` in the policy of the API, as the gateway serves it; missing if the policy has none. */
  readonly cors?: CorsPlan
}

export const API_KIND = documentKind<ApiBody>('api', [
  'title',
  'major',
  'version',
  'state',
  'owner',
  'complianceScore',
  'programme',
  'retirementDate',
  'successor',
  'labels',
])

export interface Api extends Omit<ApiBody, 'ownScopes' | 'actor' | 'deprecatedAt' | 'isMcpOn' | 'cors'> {
  readonly id: string
  readonly labels: Labels
}

export interface ApiQuery extends PageQuery {
  readonly state?: string
  /** The beginning of the technical name. */
  readonly id?: string
}

export interface Apis {
  update(author: Author, name: string, change: Labelled): Promise<Api>
  get(tenant: string, name: string): Promise<Api>
  list(tenant: string, query: ApiQuery): Promise<Page<Api>>
}

export function createApis({ registry, mutex }: { registry: Registry; mutex: KeyedMutex }): Apis {
  return {
    update: (author, name, { labels }) =>
      mutex.runExclusive([name], async () => {
        const { tenant, revision, body } = await find(registry, author.tenant, API_KIND, name)
        const next = { ...body, ...(labels !== undefined && { labels }) }
        await commit(registry, author, 'api.update', [apiWrite(name, tenant, revision, next)])
        return showApi(await find(registry, tenant, API_KIND, name))
      }),
    get: async (tenant, name) => showApi(await find(registry, tenant, API_KIND, name)),
    list: (tenant, query) =>
      listPage({
        registry,
        kind: API_KIND,
        tenant,
        query,
        where: { state: query.state },
        prefix: query.id,
        show: showApi,
      }),
  }
}

/** Returns the write of a catalogue entry, which can be listed by state. */
export function apiWrite(name: string, tenant: string, expected: number, body: ApiBody): Write {
  return { kind: API_KIND, id: name, tenant, expected, body, keys: { state: body.state } }
}

/** Returns the stored actor; derives it for entries of earlier versions. */
export function apiActor({ actor, state }: ApiBody): PersistedActor {
  if (actor !== undefined) return actor
  const fresh = begin(apiLifecycle, undefined)
  if (state === 'Prospect') return fresh
  const activated = step(apiLifecycle, fresh, { type: 'activated' })
  if (state !== 'Active' || 'refused' in activated) throw new Error(`the ${state} catalogue entry has no actor`)
  return activated.next
}

export function showApi({ id, body }: Document<ApiBody>): Api {
  const { ownScopes: _, actor: __, deprecatedAt: ___, isMcpOn: ____, cors: _____, ...shown } = body
  return { id, ...shown, labels: body.labels ?? {} }
}
