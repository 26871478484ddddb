/** Compliance of an API: the scores of its activated documents, and the drift of its implementation from its contract. */

import { toTime } from '../command/commands.ts'
import { scoreOf, WEIGHTS, type RuleCount } from '../../documents/governance/lint/score.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { DocumentKind, Registry } from '../../storage/store/registry.ts'
import { listAll } from '../command/page.ts'
import { activeDeployment, PROXY_KIND } from '../publishing/proxy-document.ts'
import { COMPLIANCE_KIND } from './compliance-score.ts'
import { DRIFT_KIND, type DriftBody } from './drifts.ts'

export interface ApiCompliance {
  /** The lower of `specification` and `runtime`; null if the active document has no score yet. */
  readonly score: number | null
  readonly specification: number | null
  readonly runtime: number
  readonly violations: readonly {
    readonly kind: string
    readonly operation: string | null
    readonly detail: string
    readonly lastSeen: string
  }[]
  /** One entry per activation, the latest first. */
  readonly history: readonly { readonly revision: number; readonly score: number; readonly time: string }[]
}

export interface ApiComplianceReader {
  /** `fallback` is the score if no document was activated. */
  of(tenant: string, api: string, fallback?: number | null): Promise<ApiCompliance>
}

export interface ApiComplianceOptions {
  readonly registry: Pick<Registry, 'find' | 'list'>
  readonly clock: Pick<Clock, 'nowMs'>
}

const HISTORY_MAX = 100
const DRIFTS_MAX = 200
const RUNTIME_MS = 30 * 86_400_000
/** Number of drifts that halves the remaining cost of their kind. */
const HALVING_COUNT = 3
const DRIFT_SEVERITIES = {
  undeclared_status: 'error',
  undeclared_body: 'warning',
  undeclared_media_type: 'warning',
  undeclared_operation: 'info',
} as const

export function createApiComplianceReader({ registry, clock }: ApiComplianceOptions): ApiComplianceReader {
  /** Reads all of them, because lists are in id order and the latest documents are the last. */
  async function bodiesOf<Body>(kind: DocumentKind<Body>, tenant: string, api: string): Promise<Body[]> {
    const documents = await Array.fromAsync(listAll(registry, kind, { tenant, where: { api } }))
    return documents.map(({ body }) => body)
  }

  return {
    async of(tenant, api, fallback = null) {
      const scored = await bodiesOf(COMPLIANCE_KIND, tenant, api)
      scored.sort((a, b) => b.scoredAtMs - a.scoredAtMs)
      const active = await activeDocument(registry, tenant, api)
      const current = active === null ? scored[0] : scored.find(({ specification }) => specification === active)
      const sinceMs = clock.nowMs() - RUNTIME_MS
      const drifts = (await bodiesOf(DRIFT_KIND, tenant, api))
        // A canary is not the published implementation.
        .filter(({ lastSeenMs, revision }) => lastSeenMs >= sinceMs && revision === undefined)
        .sort((a, b) => b.lastSeenMs - a.lastSeenMs)
      const specification = current?.score ?? fallback
      const runtime = scoreOf(countsOf(drifts), true).score
      return {
        score: specification === null ? null : Math.min(specification, runtime),
        specification,
        runtime,
        violations: drifts.slice(0, DRIFTS_MAX).map(({ kind, operation, detail, lastSeenMs }) => ({
          kind,
          operation: operation === '' ? null : operation,
          detail,
          lastSeen: toTime(lastSeenMs),
        })),
        history: scored
          .slice(0, HISTORY_MAX)
          .map(({ revision, score, scoredAtMs }) => ({ revision, score, time: toTime(scoredAtMs) })),
      }
    },
  }
}

/** Returns the document that serves; null for an API without a proxy, as the platform's own. */
async function activeDocument(registry: Pick<Registry, 'find'>, tenant: string, api: string): Promise<string | null> {
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  return proxy?.tenant === tenant ? (activeDeployment(proxy.body)?.specification ?? null) : null
}

function countsOf(drifts: readonly DriftBody[]): readonly RuleCount[] {
  return [...Map.groupBy(drifts, ({ kind }) => kind)].map(([rule, { length: count }]) => ({
    rule,
    category: 'design',
    severity: DRIFT_SEVERITIES[rule],
    weight: WEIGHTS[DRIFT_SEVERITIES[rule]],
    count,
    // Callers choose the paths of a drift, so that it has no number of places to be relative to.
    density: 1 - 2 ** (-count / HALVING_COUNT),
  }))
}
