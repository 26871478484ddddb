/** The catalogue's entries: one API a major version, made by its first deployment. */

import type { Document, Registry, Write } from '../store/registry.ts'
import { find } from './commands.ts'
import { listPage, type Page, type PageQuery } from './page.ts'

export type ApiState = 'Prospect' | 'Active' | 'Deprecated' | 'Retired'

export interface ApiBody {
  readonly title: string
  readonly major: number
  readonly version: string
  readonly state: ApiState
  readonly owner: string
  readonly complianceScore: number | null
  readonly programme: string | null
  readonly retirementDate: string | null
  readonly successor: string | null
  /** Scopes of an API that no proxy serves: the platform's own. */
  readonly ownScopes?: readonly string[]
}

export interface Api extends Omit<ApiBody, 'ownScopes'> {
  readonly id: string
}

export interface Apis {
  get(tenant: string, name: string): Promise<Api>
  list(tenant: string, query: PageQuery & { state?: string }): Promise<Page<Api>>
}

export function createApis({ registry }: { registry: Registry }): Apis {
  return {
    get: async (tenant, name) => show(await find<ApiBody>(registry, tenant, 'api', name)),
    list: (tenant, query) =>
      listPage<ApiBody, Api>({ registry, kind: 'api', tenant, query, where: { state: query.state }, show }),
  }
}

/** A catalogue entry as it is found by its state. */
export function apiWrite(name: string, tenant: string, expected: number, body: ApiBody): Write {
  return { kind: 'api', id: name, tenant, expected, body, keys: { state: body.state } }
}

function show({ id, body }: Document<ApiBody>): Api {
  const { ownScopes: _, ...shown } = body
  return { id, ...shown }
}
