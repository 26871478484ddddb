/**
 * Compliance of documents with the rules: linted on request, and scored whenever one is activated.
 *
 * Scores every activation, also one without a programme. At startup it scores the active revisions that have no score,
 * for example after a crash. The catalogue entry of the API shows the score; the findings behind it are stored with it.
 */

import { createHash } from 'node:crypto'
import type { Linter } from '../governance/lint/linter.ts'
import type { Clock } from '../runtime/clock.ts'
import { isOfKind, type Document, type Registry } from '../store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { PROXY_KIND, activeDeployment, type ProxyBody } from '../publishing/proxy-document.ts'
import { readContent } from '../publishing/published-content.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { listAll } from '../command/page.ts'
import { storeScore } from './compliance-score.ts'
import { createTenantLint, type TenantLint } from './tenant-lint.ts'

export interface Compliance {
  /** Lints by the ruleset of the tenant; findings name the principles of the tenant. */
  readonly lint: TenantLint
  /** Returns the faults of a ruleset; an empty list if it can be used. */
  readonly checkRuleset: Linter['checkRuleset']
  /** Scores an API that no proxy serves, by the built-in rules. Skips a document that has a score. */
  scoreOwn(api: string, document: Uint8Array): Promise<void>
  /** Follows the change feed from now on; resolves when all active revisions are scored. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface ComplianceOptions {
  readonly registry: Registry
  readonly linter: Linter
  /** For the platform's own document, which is large and can be trusted. */
  readonly ownDeadlineMs: number
  readonly clock: Clock
  /** Locks catalogue entries by the name of the API. */
  readonly mutex: KeyedMutex
  readonly log: { error(fields: object, message: string): void }
  /** Receives the new score of an API if it is low. */
  readonly onLow: (tenant: string, api: string, score: number) => Promise<void>
}

/** A score below this raises a risk. */
const LOW_BELOW = 90
export const CRITICAL_BELOW = 70

export function createCompliance(options: ComplianceOptions): Compliance {
  const { linter, log } = options
  const lint = createTenantLint(options)
  const revisions = createRevisionScoring(options, lint)
  let own: Promise<void> = Promise.resolve()
  let isStopped = false

  async function scoreOwn(api: string, document: Uint8Array): Promise<void> {
    if (isStopped) return
    try {
      await scoreOwnDocument(options, api, document)
    } catch (cause) {
      if (!isStopped) log.error({ err: cause, api }, 'platform API could not be scored; retrying at the next start')
    }
  }

  return {
    lint,
    checkRuleset: linter.checkRuleset,
    scoreOwn: (api, document) => (own = scoreOwn(api, document)),
    start: revisions.start,
    async stop() {
      isStopped = true
      revisions.stop()
      await linter.close()
      await Promise.all([revisions.settled(), own])
    },
  }
}

/** Scores the active revisions of proxies, one at a time; several changes of a proxy coalesce. */
function createRevisionScoring(options: ComplianceOptions, lint: TenantLint) {
  const { registry, log } = options
  /** Ids of proxies. */
  const pending = new Set<string>()
  let isWorking = false
  let work: Promise<void> = Promise.resolve()
  let unwatch = (): void => {}
  let isStopped = false

  function schedule(): void {
    if (isWorking) return
    isWorking = true
    work = scorePending()
  }

  async function scorePending(): Promise<void> {
    // A proxy that changes during the loop is appended to the set, so the loop reaches it again.
    for (const id of pending) {
      pending.delete(id)
      if (isStopped) break
      try {
        const proxy = await registry.get(PROXY_KIND, id)
        if (proxy !== null) await scoreActive(options, lint, proxy)
      } catch (cause) {
        if (!isStopped)
          log.error({ err: cause, proxy: id }, 'active revision could not be scored; retrying at the next start')
      }
    }
    isWorking = false
  }

  return {
    async start(): Promise<void> {
      unwatch = registry.watch(await registry.end(), ({ document, removed }) => {
        if (!isOfKind(document, PROXY_KIND) || removed) return
        pending.add(document.id)
        schedule()
      })
      for await (const { id } of listAll(registry, PROXY_KIND)) pending.add(id)
      schedule()
      await work
    },
    settled: (): Promise<void> => work,
    stop(): void {
      isStopped = true
      unwatch()
    },
  }
}

async function scoreActive(
  options: ComplianceOptions,
  lint: TenantLint,
  { tenant, body }: Document<ProxyBody>,
): Promise<void> {
  const deployment = activeDeployment(body)
  if (deployment === null) return
  const { api } = body
  const { specification } = deployment
  const revision = body.actor.context.activeRevision ?? 0
  const score = await storeScore(options, { tenant, api, specification, revision }, async () => {
    const { bytes } = await readContent(options.registry, tenant, specification)
    return lint(tenant, bytes)
  })
  await notifyIfLow(options, tenant, api, score)
}

/** Lints without the ruleset of the tenant, because the tenant cannot correct the document. */
async function scoreOwnDocument(options: ComplianceOptions, api: string, document: Uint8Array): Promise<void> {
  const { registry, linter, ownDeadlineMs } = options
  const entry = await registry.get(API_KIND, api)
  if (entry === null) return
  const { tenant } = entry
  const specification = `own_${createHash('sha256').update(document).digest('hex').slice(0, 32)}`
  const score = await storeScore(options, { tenant, api, specification, revision: 0 }, async () => {
    const report = await linter.lint(document, null, undefined, undefined, ownDeadlineMs)
    const [unfinished] = report.coverage?.failed ?? []
    if (unfinished !== undefined) throw new Error(unfinished.detail)
    return report
  })
  await notifyIfLow(options, tenant, api, score)
}

async function notifyIfLow(
  { onLow }: ComplianceOptions,
  tenant: string,
  api: string,
  score: number | null,
): Promise<void> {
  if (score !== null && score < LOW_BELOW) await onLow(tenant, api, score)
}
