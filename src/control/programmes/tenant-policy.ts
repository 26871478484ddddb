/** The policy of a tenant: its active ruleset, and which documents are approved without a decision. */

import type { RulesetDocument } from '../../documents/governance/ruleset-document.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import { documentKind, type Author, type Registry } from '../../storage/store/registry.ts'
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
  /** Whether people need a second factor to sign in. */
  readonly secondFactor?: 'off' | 'required'
}

export interface TenantPolicyChange extends Partial<Omit<TenantPolicy, 'approval'>> {
  readonly approval?: Partial<TenantPolicy['approval']>
}

export interface TenantPolicies {
  get(tenant: string): Promise<TenantPolicy>
  put(author: Author, policy: TenantPolicy): Promise<TenantPolicy>
  /** Members that are left out stay as they are. */
  update(author: Author, change: TenantPolicyChange): Promise<TenantPolicy>
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

  async function save(author: Author, toBody: (before: TenantPolicy) => TenantPolicy): Promise<TenantPolicy> {
    const { tenant } = author
    const id = idOf(tenant)
    const before = await registry.get(TENANT_POLICY_KIND, id)
    const body = toBody({ ...DEFAULT_TENANT_POLICY, ...before?.body })
    const { ruleset } = body
    const named = typeof ruleset === 'string' ? await registry.get(RULESET_KIND, ruleset) : null
    if (typeof ruleset === 'string' && named?.tenant !== tenant) {
      throw invalidAt('/ruleset', 'The ruleset does not exist.')
    }
    await commit(registry, author, 'policy.put', [
      { kind: TENANT_POLICY_KIND, id, tenant, expected: before?.revision ?? 0, body },
      // An unchanged write of the ruleset, so that its concurrent removal fails.
      ...(named === null
        ? []
        : [{ kind: RULESET_KIND, id: named.id, tenant, expected: named.revision, body: named.body }]),
    ])
    return get(tenant)
  }

  return {
    get,
    put: (author, body) => save(author, () => body),
    update: (author, { approval, ...change }) =>
      save(author, (before) => ({ ...before, ...change, approval: { ...before.approval, ...approval } })),
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
