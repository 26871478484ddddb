/** The compliance score of one activation, stored once and shown in the catalogue entry of its API. */

import type { Finding } from '../../documents/governance/finding.ts'
import type { LintReport } from '../../documents/governance/lint/linter.ts'
import type { Score } from '../../documents/governance/lint/score.ts'
import { documentKind, RevisionConflict, type Document, type Registry } from '../../storage/store/registry.ts'
import { API_KIND, apiWrite } from '../publishing/apis.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ComplianceBody extends Pick<Score, 'score' | 'byCategory'> {
  readonly api: string
  readonly specification: string
  readonly revision: number
  readonly costs: readonly { readonly rule: string; readonly count: number; readonly cost: number }[]
  readonly findings: readonly Finding[]
  readonly scoredAtMs: number
}

export const COMPLIANCE_KIND = documentKind<ComplianceBody>('compliance', 'hidden', 'exported')

/** An activated document to score, with the API that it describes. */
export interface ScoredDocument {
  readonly tenant: string
  readonly api: string
  /** Id of the document. */
  readonly specification: string
  /** The revision that serves it. */
  readonly revision: number
}

export interface ComplianceScoreOptions {
  readonly registry: Registry
  /** Locks the catalogue entry by the name of the API. */
  readonly mutex: KeyedMutex
  readonly clock: { nowMs(): number }
}

const FINDINGS_MAX = 100
const ATTEMPTS = 5

/**
 * Stores the score of a document and shows it in the catalogue entry. Calls `lint` only if the revision has no score yet: the
 * rules may have changed since another revision served the same document.
 * Returns a new score; null if the score was known or the API does not exist.
 */
export async function storeScore(
  options: ComplianceScoreOptions,
  document: ScoredDocument,
  lint: () => Promise<LintReport>,
): Promise<number | null> {
  const { registry, mutex, clock } = options
  const { api } = document
  const known = (await findScore(registry, document)).known
  const entry = await registry.get(API_KIND, api)
  if (entry === null || (known !== null && entry.body.complianceScore === known.body.score)) return null
  const body = known?.body ?? toBody(document, await lint(), clock.nowMs())
  const isStored = await mutex.runExclusive([api], () => write(registry, document, body))
  return isStored && known === null ? body.score : null
}

function toBody({ api, specification, revision }: ScoredDocument, report: LintReport, nowMs: number): ComplianceBody {
  const { score, byCategory, costs, findings } = report
  return {
    api,
    specification,
    revision,
    score,
    byCategory,
    costs: costs.map(({ rule, count, cost }) => ({ rule, count, cost })),
    findings: findings.slice(0, FINDINGS_MAX),
    scoredAtMs: nowMs,
  }
}

/** Finds the score of a revision. The first one of a document has the id of the document, as in earlier versions. */
async function findScore(
  registry: Pick<Registry, 'get'>,
  { specification, revision }: ScoredDocument,
): Promise<{ readonly id: string; readonly known: Document<ComplianceBody> | null }> {
  const first = await registry.get(COMPLIANCE_KIND, specification)
  if (first === null || first.body.revision === revision) return { id: specification, known: first }
  const id = `${specification}.${revision}`
  return { id, known: await registry.get(COMPLIANCE_KIND, id) }
}

/** Retries if a concurrent command changes the API. Returns false if there is nothing to store, because another node was first. */
async function write(registry: Registry, document: ScoredDocument, body: ComplianceBody): Promise<boolean> {
  const { tenant, api } = document
  for (let attempt = 1; ; attempt++) {
    const entry = await registry.get(API_KIND, api)
    // Another tenant may have taken the name since the API was removed.
    if (entry?.tenant !== tenant) return false
    const { id, known } = await findScore(registry, document)
    if (known !== null && entry.body.complianceScore === known.body.score) return false
    try {
      await registry.commit({ tenant, consumer: 'system' }, 'api.scored', [
        ...(known === null ? [{ kind: COMPLIANCE_KIND, id, tenant, expected: 0, body, keys: { api } }] : []),
        apiWrite(api, tenant, entry.revision, { ...entry.body, complianceScore: body.score }),
      ])
      return true
    } catch (cause) {
      if (!(cause instanceof RevisionConflict) || attempt === ATTEMPTS) throw cause
    }
  }
}
