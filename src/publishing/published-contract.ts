/**
 * Rejects a revision that breaks callers of the active one within a major version. The error lists the
 * changes, which are allowed in another major version.
 */

import { Problem } from '../domain/problem.ts'
import { PREVIOUS_INVALID, type Comparison } from '../governance/compare/change.ts'
import type { Registry } from '../store/registry.ts'
import { activeDeployment, type ProxyBody } from './proxy-document.ts'
import { readContent } from './published-content.ts'

/** Upper bound of the changes that the error lists. */
const CHANGES_MAX = 100

/** Compares two documents of a tenant, off the main thread. */
export type CompareVersions = (tenant: string, previous: Uint8Array, next: Uint8Array) => Promise<Comparison>

export interface ContractOptions {
  readonly registry: Registry
  readonly compareVersions: CompareVersions
}

/** Returns what the document was compared with; null if none is active. Throws `Problem('breaking_change')` with the changes. */
export async function checkContract(
  { registry, compareVersions }: ContractOptions,
  tenant: string,
  current: ProxyBody | null,
  next: Uint8Array,
): Promise<Pick<Comparison, 'serverUrl'> | null> {
  const serving = current === null ? null : activeDeployment(current)
  if (serving === null) return null
  const { bytes } = await readContent(registry, tenant, serving.specification)
  const comparison = await compareVersions(tenant, bytes, next)
  // A document that cannot be compared may break callers.
  const breaking = comparison.changes.filter(({ id, level }) => level === 'breaking' || id === PREVIOUS_INVALID)
  if (breaking.length === 0) return comparison
  const detail = `The document has ${breaking.length} breaking changes since version ${serving.version}. Publish it as a new major version.`
  throw new Problem('breaking_change', detail, { extensions: { changes: breaking.slice(0, CHANGES_MAX) } })
}
