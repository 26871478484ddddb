/**
 * How well documents comply: judged when they are asked about, and whenever one of them is activated.
 *
 * Every activation is scored, also one without a programme: the change feed says what serves now, so
 * that one that was missed by a crash is caught up with at the next start. The score stands with the API, and
 * what it was made of is kept with the document.
 */

import { createHash } from 'node:crypto'
import type { Finding } from '../governance/finding.ts'
import type { Judgement, Linter } from '../governance/lint/linter.ts'
import type { Score } from '../governance/lint/score.ts'
import type { Clock } from '../runtime/clock.ts'
import { documentKind, isOfKind, RevisionConflict, type Document, type Registry } from '../store/registry.ts'
import { API_KIND, apiWrite } from '../publishing/apis.ts'
import { PROXY_KIND, activeDeployment, type ProxyBody } from '../publishing/proxy-document.ts'
import { readContent } from '../publishing/published-content.ts'
import { PRINCIPLE_KIND } from './principles.ts'
import { rulesetInForce } from './tenant-policy.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ComplianceBody extends Pick<Score, 'score' | 'byCategory'> {
  readonly api: string
  readonly specification: string
  readonly revision: number
  readonly costs: readonly { readonly rule: string; readonly count: number; readonly cost: number }[]
  readonly findings: readonly Finding[]
  readonly scoredAtMs: number
}

export interface Compliance {
  /** By the ruleset of the tenant, with its principles named. */
  judge(tenant: string, specification: Uint8Array, previous?: Uint8Array | null): Promise<Judgement>
  /** Returns the faults of a ruleset; an empty list if it can be used. */
  readonly vet: Linter['vet']
  /**
   * Scores an API that no proxy serves, by the rules that every document is held to. A document that was scored before
   * is not judged again.
   */
  scoreOwn(api: string, document: Uint8Array): Promise<void>
  /** Goes on by itself from now on; resolves when what serves at the start is scored. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface ComplianceOptions {
  readonly registry: Registry
  readonly linter: Linter
  /** For the platform's own document, which is large and can be trusted. */
  readonly ownDeadlineMs: number
  readonly clock: Clock
  /** Changes of an API's entry take mutex by its name. */
  readonly mutex: KeyedMutex
  readonly log: { error(fields: object, message: string): void }
  /** An API serves by a document that scores low. */
  readonly onLow: (tenant: string, api: string, score: number) => Promise<void>
}

export const COMPLIANCE_KIND = documentKind<ComplianceBody>('compliance')
/** A score below this raises a risk. */
const LOW_BELOW = 90
export const CRITICAL_BELOW = 70
const FINDINGS_KEPT = 100
const PAGE = 500
const ATTEMPTS = 5

export function createCompliance(options: ComplianceOptions): Compliance {
  const { registry, linter, ownDeadlineMs, clock, mutex, log, onLow } = options
  /** Ids of proxies whose documents are to be scored, each once. */
  const pending = new Set<string>()
  let isWorking = false
  let work: Promise<void> = Promise.resolve()
  let own: Promise<void> = Promise.resolve()
  let stopWatching = (): void => {}
  let isStopped = false

  async function judge(
    tenant: string,
    specification: Uint8Array,
    previous: Uint8Array | null = null,
  ): Promise<Judgement> {
    const judgement = await linter.judge(specification, previous, await rulesetInForce(registry, tenant), tenant)
    const principles = await principlesOf(tenant)
    if (principles.size === 0) return judgement
    const findings = judgement.findings.map((finding) => ({
      ...finding,
      principle: principles.get(finding.rule) ?? null,
    }))
    return { ...judgement, findings }
  }

  /** Returns the first principle that names each rule. */
  async function principlesOf(tenant: string): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>()
    for (const { body } of await registry.list(PRINCIPLE_KIND, { tenant, limit: PAGE })) {
      for (const rule of body.rules ?? []) if (!names.has(rule)) names.set(rule, body.name)
    }
    return names
  }

  function goOn(): void {
    if (isWorking) return
    isWorking = true
    work = scorePending()
  }

  async function scorePending(): Promise<void> {
    // One that changes again meanwhile comes to the end of the set.
    for (const id of pending) {
      pending.delete(id)
      if (isStopped) break
      try {
        const proxy = await registry.get(PROXY_KIND, id)
        if (proxy !== null) await scoreOf(proxy)
      } catch (cause) {
        log.error({ err: cause, proxy: id }, 'active revision could not be scored; retrying at the next start')
      }
    }
    isWorking = false
  }

  async function scoreOf({ tenant, body }: Document<ProxyBody>): Promise<void> {
    const deployment = activeDeployment(body)
    if (deployment === null) return
    const { specification } = deployment
    const revision = body.actor.context.activeRevision ?? 0
    const { api } = body
    await keepScore(tenant, api, specification, async () => {
      const { bytes } = await readContent(registry, tenant, specification)
      return toBody(api, specification, revision, await judge(tenant, bytes))
    })
  }

  async function scoreOwn(api: string, document: Uint8Array): Promise<void> {
    const entry = await registry.get(API_KIND, api)
    if (entry === null || isStopped) return
    const id = `own_${createHash('sha256').update(document).digest('hex').slice(0, 32)}`
    try {
      // Rules of a tenant are not looked at: it could not mend the document.
      await keepScore(entry.tenant, api, id, async () => {
        const judgement = await linter.judge(document, null, undefined, undefined, ownDeadlineMs)
        const [unfinished] = judgement.coverage?.failed ?? []
        if (unfinished !== undefined) throw new Error(unfinished.detail)
        return toBody(api, id, 0, judgement)
      })
    } catch (cause) {
      if (!isStopped) log.error({ err: cause, api }, 'platform API could not be scored; retrying at the next start')
    }
  }

  /** Shows the score of a document with its API; `judgeNow` is asked for one that was not scored before. */
  async function keepScore(
    tenant: string,
    api: string,
    id: string,
    judgeNow: () => Promise<ComplianceBody>,
  ): Promise<void> {
    const known = await registry.get(COMPLIANCE_KIND, id)
    const entry = await registry.get(API_KIND, api)
    if (entry === null || (known !== null && entry.body.complianceScore === known.body.score)) return
    const scored = known?.body ?? (await judgeNow())
    await mutex.runExclusive([api], () => write(tenant, api, id, scored, known === null))
    if (known === null && scored.score < LOW_BELOW) await onLow(tenant, api, scored.score)
  }

  function toBody(api: string, specification: string, revision: number, judgement: Judgement): ComplianceBody {
    const { score, byCategory, costs, findings } = judgement
    return {
      api,
      specification,
      revision,
      score,
      byCategory,
      costs: costs.map(({ rule, count, cost }) => ({ rule, count, cost })),
      findings: findings.slice(0, FINDINGS_KEPT),
      scoredAtMs: clock.nowMs(),
    }
  }

  /** Retries if a concurrent command changes the API. */
  async function write(tenant: string, api: string, id: string, body: ComplianceBody, isNew: boolean): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const entry = await registry.get(API_KIND, api)
      if (entry === null) return
      try {
        await registry.commit({ tenant, consumer: 'system' }, 'api.scored', [
          ...(isNew ? [{ kind: COMPLIANCE_KIND, id, tenant, expected: 0, body, keys: { api } }] : []),
          apiWrite(api, tenant, entry.revision, { ...entry.body, complianceScore: body.score }),
        ])
        return
      } catch (cause) {
        if (!(cause instanceof RevisionConflict) || attempt === ATTEMPTS) throw cause
      }
    }
  }

  return {
    judge,
    scoreOwn: (api, document) => (own = scoreOwn(api, document)),
    vet: linter.vet,
    async start() {
      const end = await registry.end()
      stopWatching = registry.watch(end, ({ document, removed }) => {
        if (!isOfKind(document, PROXY_KIND) || removed) return
        pending.add(document.id)
        goOn()
      })
      for (let after: string | undefined; ;) {
        const page = await registry.list(PROXY_KIND, { limit: PAGE, ...(after !== undefined && { after }) })
        for (const { id } of page) pending.add(id)
        if (page.length < PAGE) break
        after = page.at(-1)?.id
      }
      goOn()
      await work
    },
    async stop() {
      isStopped = true
      stopWatching()
      await linter.close()
      await Promise.all([work, own])
    },
  }
}
