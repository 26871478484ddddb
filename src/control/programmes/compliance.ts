/**
 * Compliance of documents with the rules: linted on request, and scored whenever one is activated.
 *
 * Scores every activation, also one without a programme. At startup it scores the active revisions that have no score,
 * for example after a crash. The catalogue entry of the API shows the score; the findings behind it are stored with it.
 * A failure of the store is retried, with back-off because each attempt may lint the document again. Other failures would recur with
 * the same document, and wait for the next start.
 */

import { createHash } from 'node:crypto'
import type { Linter, LintReport } from '../../documents/governance/lint/linter.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { isOfKind, type Document, type Registry } from '../../storage/store/registry.ts'
import { isFromDisk } from '../../storage/store/unwritable.ts'
import { API_KIND } from '../publishing/apis.ts'
import { PROXY_KIND, activeDeployment, type ProxyBody } from '../publishing/proxy-document.ts'
import { readContent } from '../publishing/published-content.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { listAll } from '../command/page.ts'
import { createRetries, type Retries } from '../command/retries.ts'
import { storeScore } from './compliance-score.ts'
import { createTenantLint, type TenantLint } from './tenant-lint.ts'

export interface Compliance {
  /** Lints by the ruleset of the tenant; findings name the principles of the tenant. */
  readonly lint: TenantLint
  /** Returns the faults of a ruleset; an empty list if it can be used. */
  readonly checkRuleset: Linter['checkRuleset']
  /** Scores an API that no proxy serves, by the built-in rules. Skips a document that has a score. */
  scoreOwn(api: string, document: Uint8Array): Promise<void>
  /** Stores the score of such an API that was computed when the service was built. Never rejects. */
  storeOwn(api: string, built: BuiltScore): Promise<void>
  /** Follows the change feed from now on; resolves when all active revisions are scored, or a retry is scheduled. Never rejects. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** The score of the platform's own document, computed in advance: it takes three seconds of CPU. */
export interface BuiltScore {
  /** `ownSpecification` of the document. */
  readonly specification: string
  readonly report: LintReport
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
  const retries = createRetries(options)
  const revisions = createRevisionScoring(options, lint, retries)
  let own: Promise<void> = Promise.resolve()
  let isStopped = false

  function runOwn(api: string, store: () => Promise<void>): Promise<void> {
    own = Promise.all([own, tryOwn(api, store)]).then(() => {})
    return own
  }

  async function tryOwn(api: string, store: () => Promise<void>): Promise<void> {
    if (isStopped) return
    try {
      await store()
      retries.done(`own ${api}`)
    } catch (cause) {
      if (isStopped) return
      log.error({ err: cause, api }, `platform API could not be scored; ${nextAfter(cause)}`)
      if (isFromDisk(cause)) retries.schedule(`own ${api}`, null, () => void runOwn(api, store))
    }
  }

  return {
    lint,
    checkRuleset: linter.checkRuleset,
    scoreOwn: (api, document) =>
      runOwn(api, () => scoreOwnDocument(options, api, ownSpecification(document), () => lintOwn(options, document))),
    storeOwn: (api, { specification, report }) =>
      runOwn(api, () => scoreOwnDocument(options, api, specification, async () => report)),
    start: revisions.start,
    async stop() {
      isStopped = true
      retries.stop()
      revisions.stop()
      await linter.close()
      await Promise.all([revisions.settled(), own])
    },
  }
}

/** Follows the proxies, and scores the active revision of each that was created or changed. */
function createRevisionScoring(options: ComplianceOptions, lint: TenantLint, retries: Retries) {
  const { registry, log } = options
  const queue = createRevisionQueue(options, lint, retries)
  let unwatch = (): void => {}
  let isStopped = false

  async function follow(): Promise<void> {
    unwatch()
    unwatch = registry.watch(await registry.end(), ({ document, removed }) => {
      if (isOfKind(document, PROXY_KIND) && !removed) queue.add(document.id)
    })
    for await (const { id } of listAll(registry, PROXY_KIND)) queue.add(id)
    await queue.settled()
  }

  async function start(): Promise<void> {
    try {
      await follow()
      retries.done('start')
    } catch (cause) {
      if (isStopped) return
      log.error({ err: cause }, 'active revisions could not be read; they are scored when a retry succeeds')
      retries.schedule('start', cause, () => void start())
    }
  }

  return {
    start,
    settled: queue.settled,
    stop(): void {
      isStopped = true
      unwatch()
      queue.stop()
    },
  }
}

/** Scores the active revisions of proxies, one at a time; several changes of a proxy coalesce. */
function createRevisionQueue(options: ComplianceOptions, lint: TenantLint, retries: Retries) {
  const { registry, log } = options
  /** Ids of proxies. */
  const pending = new Set<string>()
  let isWorking = false
  let work: Promise<void> = Promise.resolve()
  let isStopped = false

  function add(id: string): void {
    if (isStopped) return
    pending.add(id)
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
        retries.done(`proxy ${id}`)
      } catch (cause) {
        if (isStopped) break
        log.error({ err: cause, proxy: id }, `active revision could not be scored; ${nextAfter(cause)}`)
        if (isFromDisk(cause)) retries.schedule(`proxy ${id}`, null, () => add(id))
      }
    }
    isWorking = false
  }

  return {
    add,
    settled: (): Promise<void> => work,
    stop(): void {
      isStopped = true
    },
  }
}

function nextAfter(cause: unknown): string {
  return isFromDisk(cause) ? 'retrying' : 'retrying at the next start'
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

/** Returns the id under which the score of such a document is stored. */
export function ownSpecification(document: Uint8Array): string {
  return `own_${createHash('sha256').update(document).digest('hex').slice(0, 32)}`
}

async function scoreOwnDocument(
  options: ComplianceOptions,
  api: string,
  specification: string,
  lint: () => Promise<LintReport>,
): Promise<void> {
  const entry = await options.registry.get(API_KIND, api)
  if (entry === null) return
  const { tenant } = entry
  const score = await storeScore(options, { tenant, api, specification, revision: 0 }, lint)
  await notifyIfLow(options, tenant, api, score)
}

/** Lints without the ruleset of the tenant, because the tenant cannot correct the document. */
async function lintOwn({ linter, ownDeadlineMs }: ComplianceOptions, document: Uint8Array): Promise<LintReport> {
  const report = await linter.lint(document, null, undefined, undefined, ownDeadlineMs)
  const [unfinished] = report.coverage?.failed ?? []
  if (unfinished !== undefined) throw new Error(unfinished.detail)
  return report
}

async function notifyIfLow(
  { onLow }: ComplianceOptions,
  tenant: string,
  api: string,
  score: number | null,
): Promise<void> {
  if (score !== null && score < LOW_BELOW) await onLow(tenant, api, score)
}
