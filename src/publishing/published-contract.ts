/**
 * Rejects a revision that breaks callers of the active one within a major version. The error lists the
 * changes, which are allowed in another major version.
 */

import { Problem } from '../domain/problem.ts'
import { compareDocuments } from '../governance/compare/compare-documents.ts'
import { readSpecification, type Specification } from '../governance/specification.ts'
import type { Registry } from '../store/registry.ts'
import { activeDeployment, type ProxyBody } from './proxy-document.ts'
import { readContent } from './published-content.ts'

/** Upper bound of the changes that the error lists. */
const CHANGES_MAX = 100

/** Returns the active document; null if there is none. Throws `Problem('breaking_change')` with the changes. */
export async function checkContract(
  registry: Registry,
  tenant: string,
  current: ProxyBody | null,
  next: Specification,
  nowMs: number,
): Promise<Specification | null> {
  const serving = current === null ? null : activeDeployment(current)
  if (serving === null) return null
  const { bytes } = await readContent(registry, tenant, serving.specification)
  const before = await readSpecification(bytes)
  const changes = compareDocuments(before, next, nowMs)
  const breaking = changes.filter(({ level }) => level === 'breaking')
  if (breaking.length === 0) return before
  const detail = `The document has ${breaking.length} breaking changes since version ${serving.version}. Publish it as a new major version.`
  throw new Problem('breaking_change', detail, { extensions: { changes: breaking.slice(0, CHANGES_MAX) } })
}
