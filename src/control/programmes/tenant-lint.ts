/** Lints documents by the rules of a tenant: its active ruleset, and the principles that name each rule. */

import type { Linter, LintReport } from '../../documents/governance/lint/linter.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { PRINCIPLE_KIND } from './principles.ts'
import { activeRuleset } from './tenant-policy.ts'

export interface TenantLintOptions {
  readonly registry: Registry
  readonly linter: Pick<Linter, 'lint'>
}

export type TenantLint = (
  tenant: string,
  specification: Uint8Array,
  previous?: Uint8Array | null,
) => Promise<LintReport>

const PRINCIPLES_MAX = 500

export function createTenantLint({ registry, linter }: TenantLintOptions): TenantLint {
  return async (tenant, specification, previous = null) => {
    const report = await linter.lint(specification, previous, await activeRuleset(registry, tenant), tenant)
    const principles = await principlesOf(registry, tenant)
    if (principles.size === 0) return report
    const findings = report.findings.map((finding) => ({ ...finding, principle: principles.get(finding.rule) ?? null }))
    return { ...report, findings }
  }
}

/** Returns the name of the first principle that names each rule. */
async function principlesOf(registry: Registry, tenant: string): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const { body } of await registry.list(PRINCIPLE_KIND, { tenant, limit: PRINCIPLES_MAX })) {
    for (const rule of body.rules ?? []) if (!names.has(rule)) names.set(rule, body.name)
  }
  return names
}
