/**
 * Rejects a revision that breaks callers of the active one within a major version. The error lists the
 * changes, which are allowed in another major version.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { RulesetDocument } from '../../documents/governance/ruleset-document.ts'
import type { Registry } from '../../storage/store/registry.ts'
import type { DocumentReader, ReadDocument } from './document-reader.ts'
import { activeDeployment, type ProxyBody } from './proxy-document.ts'
import { readContent } from './published-content.ts'

/** Returns the ruleset of a tenant: it may have severities for changes. */
export type RulesetOf = (tenant: string) => Promise<RulesetDocument | undefined>

export interface ContractOptions {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'read'>
  readonly rulesetOf: RulesetOf
  readonly clock: Clock
  /** Breaking changes are published; missing: they are refused. */
  readonly allowsBreaking?: boolean
}

/** Reads a document and compares it with that of the active revision of `current`, if there is one. */
export async function readNext(
  { registry, documents, rulesetOf, clock }: ContractOptions,
  tenant: string,
  bytes: Uint8Array,
  current: ProxyBody | null,
): Promise<ReadDocument> {
  const serving = current === null ? null : activeDeployment(current)
  if (current === null || serving === null) return documents.read({ bytes, previous: null }, tenant)
  const { bytes: before } = await readContent(registry, tenant, serving.specification)
  const ruleset = await rulesetOf(tenant)
  const previous = { bytes: before, api: current.api, nowMs: clock.nowMs(), ruleset }
  return documents.read({ bytes, previous }, tenant)
}

/** Throws `Problem('breaking_change')` with the changes since the active revision of `current`. */
export function refuseBreaking(
  { allowsBreaking = false }: Pick<ContractOptions, 'allowsBreaking'>,
  { previous }: Pick<ReadDocument, 'previous'>,
  current: ProxyBody | null,
): void {
  if (previous === null || previous.breaking === 0 || allowsBreaking) return
  const version = current === null ? null : activeDeployment(current)?.version
  const changes = previous.breaking === 1 ? '1 breaking change' : `${previous.breaking} breaking changes`
  const detail = `The document has ${changes} since version ${version}. Publish it as a new major version.`
  throw new Problem('breaking_change', detail, { extensions: { changes: previous.changes } })
}
