/** The policy of a tenant: its active ruleset, and which documents are approved without a decision. */

import type { RulesetDocument } from '../governance/ruleset-document.ts'
import type { Labelled } from '../store/labels.ts'
import { documentKind, type Author, type Registry } from '../store/registry.ts'
import { commit, invalidAt } from '../command/commands.ts'

export interface TenantPolicy {
  readonly approval: {
    readonly minScore: number
    readonly allowErrors: boolean
    /** Applies to a new major version that breaks callers of an active one. */
    readonly allowBreaking: boolean
    /** Exposures of APIs that need no decision. */
    readonly exposures: readonly ('Internal' | 'Partner' | 'Public')[]
  }
  /** Id of the ruleset for linting; null or missing: the built-in rules. */
  readonly ruleset?: string | null
  /** Whether people need a second factor to log in. */
  readonly secondFactor?: 'off' | 'required'
}

export interface TenantPolicies {
  get(tenant: string): Promise<TenantPolicy>
  put(author: Author, policy: TenantPolicy): Promise<TenantPolicy>
}

const TENANT_POLICY_KIND = documentKind<TenantPolicy>('tenant_policy', 'hidden', 'exported')
export type RulesetBody = RulesetDocument & Labelled
export const RULESET_KIND = documentKind<RulesetBody>('ruleset', 'hidden', 'exported')
const DEFAULT_TENANT_POLICY: TenantPolicy = {
  approval: { minScore: 80, allowErrors: false, allowBreaking: true, exposures: ['Internal', 'Partner', 'Public'] },
  ruleset: null,
  secondFactor: 'off',
}

export function createTenantPolicies({ registry }: { readonly registry: Registry }): TenantPolicies {
  const idOf = (tenant: string): string => `policy ${tenant}`

  async function get(tenant: string): Promise<TenantPolicy> {
    return { ...DEFAULT_TENANT_POLICY, ...(await registry.get(TENANT_POLICY_KIND, idOf(tenant)))?.body }
  }

  return {
    get,
    async put(author, body) {
      const { tenant } = author
      const { ruleset } = body
      const named = typeof ruleset === 'string' ? await registry.get(RULESET_KIND, ruleset) : null
      if (typeof ruleset === 'string' && named?.tenant !== tenant) {
        throw invalidAt('/ruleset', 'The ruleset does not exist.')
      }
      const id = idOf(tenant)
      const before = await registry.get(TENANT_POLICY_KIND, id)
      await commit(registry, author, 'policy.put', [
        { kind: TENANT_POLICY_KIND, id, tenant, expected: before?.revision ?? 0, body },
        // An unchanged write of the ruleset, so that its concurrent removal fails.
        ...(named === null
          ? []
          : [{ kind: RULESET_KIND, id: named.id, tenant, expected: named.revision, body: named.body }]),
      ])
      return get(tenant)
    },
  }
}

/** Returns the id of the ruleset that the tenant's policy names, or null. */
export async function activeRulesetId(registry: Registry, tenant: string): Promise<string | null> {
  return (await createTenantPolicies({ registry }).get(tenant)).ruleset ?? null
}

/** Returns the ruleset that the tenant's policy names; undefined: the built-in rules apply. */
export async function activeRuleset(registry: Registry, tenant: string): Promise<RulesetDocument | undefined> {
  const ruleset = await activeRulesetId(registry, tenant)
  if (ruleset === null) return undefined
  const found = await registry.get(RULESET_KIND, ruleset)
  if (found?.tenant !== tenant) return undefined
  const { labels: _, ...document } = found.body
  return document
}
