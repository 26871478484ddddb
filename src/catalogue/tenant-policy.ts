/** What a tenant lets pass without anybody deciding. */

import type { Author, Registry } from '../store/registry.ts'
import { commit } from './commands.ts'

export interface TenantPolicy {
  readonly approval: {
    readonly minScore: number
    readonly allowErrors: boolean
    readonly allowBreaking: boolean
    /** Exposures of APIs that need no decision. */
    readonly exposures: readonly ('Internal' | 'Partner' | 'Public')[]
  }
}

export interface TenantPolicies {
  get(tenant: string): Promise<TenantPolicy>
  put(author: Author, policy: TenantPolicy): Promise<TenantPolicy>
}

const KIND = 'tenant_policy'
export const DEFAULT_TENANT_POLICY: TenantPolicy = {
  approval: { minScore: 80, allowErrors: false, allowBreaking: false, exposures: ['Internal', 'Partner', 'Public'] },
}

export function createTenantPolicies({ registry }: { readonly registry: Registry }): TenantPolicies {
  // The id carries the kind: a tenant's name is no document of its own.
  const idOf = (tenant: string): string => `policy ${tenant}`

  async function get(tenant: string): Promise<TenantPolicy> {
    return (await registry.get<TenantPolicy>(KIND, idOf(tenant)))?.body ?? DEFAULT_TENANT_POLICY
  }

  return {
    get,
    async put(author, body) {
      const { tenant } = author
      const id = idOf(tenant)
      const before = await registry.get(KIND, id)
      await commit(registry, author, 'policy.put', [{ kind: KIND, id, tenant, expected: before?.revision ?? 0, body }])
      return get(tenant)
    },
  }
}
