/** The policy of a tenant: documents that are approved without a decision. */

import type { RulesetDocument } from '../governance/ruleset-document.ts'
import { documentKind, type Author, type Registry } from '../store/registry.ts'
import { commit, invalidAt } from '../command/commands.ts'

export interface TenantPolicy {
  readonly approval: {
    readonly minScore: number
    readonly allowErrors: boolean
    /** A new major version beside one that serves, whose callers it breaks. */
    readonly allowBreaking: boolean
    /** Exposures of APIs that need no decision. */
    readonly exposures: readonly ('Internal' | 'Partner' | 'Public')[]
  }
  /** By which documents are judged; null or missing: by the rules as they are. */
  readonly ruleset?: string | null
}

export interface TenantPolicies {
  get(tenant: string): Promise<TenantPolicy>
  put(author: Author, policy: TenantPolicy): Promise<TenantPolicy>
}

const TENANT_POLICY_KIND = documentKind<TenantPolicy>('tenant_policy')
export const RULESET_KIND = documentKind<RulesetDocument>('ruleset')
const DEFAULT_TENANT_POLICY: TenantPolicy = {
  approval: { minScore: 80, allowErrors: false, allowBreaking: true, exposures: ['Internal', 'Partner', 'Public'] },
  ruleset: null,
}

export function createTenantPolicies({ registry }: { readonly registry: Registry }): TenantPolicies {
  // The id carries the kind: a tenant's name is no document of its own.
  const idOf = (tenant: string): string => `policy ${tenant}`

  async function get(tenant: string): Promise<TenantPolicy> {
    return { ...DEFAULT_TENANT_POLICY, ...(await registry.get(TENANT_POLICY_KIND, idOf(tenant)))?.body }
  }

  return {
    get,
    async put(author, body) {
      const { tenant } = author
      const { ruleset } = body
      if (ruleset !== undefined && ruleset !== null && (await registry.get(RULESET_KIND, ruleset))?.tenant !== tenant) {
        throw invalidAt('/ruleset', 'The ruleset does not exist.')
      }
      const id = idOf(tenant)
      const before = await registry.get(TENANT_POLICY_KIND, id)
      await commit(registry, author, 'policy.put', [
        { kind: TENANT_POLICY_KIND, id, tenant, expected: before?.revision ?? 0, body },
      ])
      return get(tenant)
    },
  }
}

/** The ruleset that the tenant's policy names; undefined: documents are judged by the rules as they are. */
export async function rulesetInForce(registry: Registry, tenant: string): Promise<RulesetDocument | undefined> {
  const { ruleset } = await createTenantPolicies({ registry }).get(tenant)
  if (ruleset === undefined || ruleset === null) return undefined
  const found = await registry.get(RULESET_KIND, ruleset)
  return found?.tenant === tenant ? found.body : undefined
}
