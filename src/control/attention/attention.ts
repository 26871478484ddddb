/**
 * Collects the matters that need attention now: open risks, approvals that wait, staged revisions that wait for their activation, limits
 * that are nearly used up, backends that fail, webhooks that fail and credentials that expire soon.
 *
 * Each part is read from an index and counts up to `COUNT_MAX`; nothing scans a tenant. A part is read only if the caller has the
 * right to the resources that it counts.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { RiskFeed } from '../../storage/store/risk-store.ts'
import type { Document, DocumentKind, Registry } from '../../storage/store/registry.ts'
import { CREDENTIAL_KIND, EXPIRING_KEY } from '../access/credential-document.ts'
import { APPROVAL_KIND } from '../approvals/approval-document.ts'
import { toTime } from '../command/commands.ts'
import { PROXY_KIND, STAGING_KEY } from '../publishing/proxy-document.ts'
import type { UpstreamState } from '../../boundary/plan/upstream-state.ts'
import { CONSUMER_KIND } from '../access/consumer-document.ts'
import { SUBSCRIPTION_KIND } from '../subscriptions/document/subscription-document.ts'
import { EVENT_SUBSCRIPTION_KIND } from '../webhooks/event-subscription-document.ts'

export const ATTENTION_KINDS = ['risk', 'limit', 'backend', 'approval', 'webhook', 'credential', 'revision'] as const
export type AttentionKind = (typeof ATTENTION_KINDS)[number]
export type Severity = 'Critical' | 'Warning' | 'Info'

/** The first of the resources that an item counts. */
export interface Subject {
  readonly id: string
  readonly name: string
  /** The resource that contains it: of a credential, its subscription; null if there is none. */
  readonly parent: string | null
  /** Since when, or for a credential until when; null if that is not known. */
  readonly at: string | null
}

export interface AttentionItem {
  readonly kind: AttentionKind
  readonly severity: Severity
  readonly count: number
  /** The count stopped at its maximum. */
  readonly isMore: boolean
  readonly subjects: readonly Subject[]
}

export interface AttentionQuery {
  readonly tenant: string
  /** Only what concerns this consumer; null: the whole tenant. */
  readonly consumer: string | null
  /** Whether the caller may read the resources of a kind. */
  readonly may: (resource: 'risks' | 'approvals' | 'apis' | 'eventsubscriptions' | 'credentials' | 'proxies') => boolean
}

export interface Attention {
  read(query: AttentionQuery): Promise<readonly AttentionItem[]>
}

/** A backend that fails, or has failed until now. */
export interface UpstreamIssueState {
  readonly api: string
  readonly state: UpstreamState
}

export interface AttentionOptions {
  readonly registry: Pick<Registry, 'get' | 'list'>
  readonly risks: Pick<RiskFeed, 'position'>
  /** The APIs of a tenant whose backends are not healthy. */
  readonly upstreamIssues: (tenant: string) => Promise<readonly UpstreamIssueState[]>
  readonly clock: Pick<Clock, 'nowMs'>
}

export const COUNT_MAX = 1_000
/** The document of a proxy contains its revisions, and is large. */
export const REVISIONS_MAX = 100
const SUBJECTS_MAX = 5
/** Subscriptions of a consumer that are searched for credentials that expire. */
const SUBSCRIPTIONS_MAX = 200
const SEVERITIES = ['Critical', 'Warning', 'Info'] as const

export function createAttention(options: AttentionOptions): Attention {
  return {
    async read(query) {
      const { may, consumer } = query
      const parts = [
        may('risks') ? await risksOf(options, query) : [],
        may('apis') && consumer === null ? await backendsOf(options, query) : [],
        // A consumer asks, and the provider decides.
        may('approvals') && consumer === null ? await approvalsOf(options, query) : [],
        may('eventsubscriptions') ? await webhooksOf(options, query) : [],
        may('credentials') ? await credentialsOf(options, query) : [],
        may('proxies') && consumer === null ? await revisionsOf(options, query) : [],
      ]
      const found = parts.flat().filter(({ count }) => count > 0)
      return found.sort((one, other) => rankOf(one) - rankOf(other))
    },
  }
}

function rankOf({ severity, kind }: AttentionItem): number {
  return SEVERITIES.indexOf(severity) * ATTENTION_KINDS.length + ATTENTION_KINDS.indexOf(kind)
}

function item(kind: AttentionKind, severity: Severity, subjects: readonly Subject[], limit = COUNT_MAX): AttentionItem {
  const count = Math.min(subjects.length, limit)
  return { kind, severity, count, isMore: subjects.length > limit, subjects: subjects.slice(0, SUBJECTS_MAX) }
}

/** Risks by severity, and apart from them the limits that are nearly used up. */
async function risksOf({ risks }: AttentionOptions, { tenant, consumer }: AttentionQuery): Promise<AttentionItem[]> {
  const own = consumer === null ? {} : { consumer }
  const found = await risks.position({ tenant, ...own, state: 'open', limit: COUNT_MAX + 1 })
  const isLimit = (type: string): boolean => type === 'ApproachingLimit'
  const subjectsOf = (chosen: typeof found): Subject[] =>
    chosen.map(({ event: { riskId, type, attributedTo, api, firstSeenMs } }) => {
      const name = isLimit(type) ? `${attributedTo.name || attributedTo.id} · ${api}` : `${type} · ${api}`
      return { id: riskId, name, parent: null, at: toTime(firstSeenMs) }
    })
  const isMore = found.length > COUNT_MAX
  const [limits, others] = [
    found.filter(({ event }) => isLimit(event.type)),
    found.filter(({ event }) => !isLimit(event.type)),
  ]
  const bySeverity = SEVERITIES.map((severity) =>
    item('risk', severity, subjectsOf(others.filter(({ event }) => event.severity === severity))),
  )
  return [...bySeverity, item('limit', 'Warning', subjectsOf(limits))].map((each) => ({ ...each, isMore }))
}

async function backendsOf({ upstreamIssues }: AttentionOptions, { tenant }: AttentionQuery): Promise<AttentionItem[]> {
  const toSubject = ({ api, state }: UpstreamIssueState): Subject => ({ id: api, name: state, parent: null, at: null })
  const issues = await upstreamIssues(tenant)
  const down = issues.filter(({ state }) => state === 'unhealthy' || state === 'recovering')
  const slow = issues.filter(({ state }) => state === 'degraded')
  return [item('backend', 'Critical', down.map(toSubject)), item('backend', 'Warning', slow.map(toSubject))]
}

async function approvalsOf({ registry }: AttentionOptions, { tenant }: AttentionQuery): Promise<AttentionItem[]> {
  const found = await registry.list(APPROVAL_KIND, { tenant, where: { state: 'InProgress' }, limit: COUNT_MAX + 1 })
  const toSubject = ({ id, body, createdAtMs }: (typeof found)[number]): Subject => ({
    id,
    name: body.kind,
    parent: body.subscription ?? body.programme ?? null,
    at: toTime(createdAtMs),
  })
  return [item('approval', 'Info', found.map(toSubject))]
}

async function webhooksOf(
  { registry }: AttentionOptions,
  { tenant, consumer }: AttentionQuery,
): Promise<AttentionItem[]> {
  const where = { state: 'failing', ...(consumer !== null && { consumer }) }
  const found = await registry.list(EVENT_SUBSCRIPTION_KIND, { tenant, where, limit: COUNT_MAX + 1 })
  const toSubject = ({ id, body }: (typeof found)[number]): Subject => {
    const { failingSinceMs } = body.actor.context as { readonly failingSinceMs: number | null }
    return { id, name: hostOf(body.url), parent: null, at: failingSinceMs === null ? null : toTime(failingSinceMs) }
  }
  return [item('webhook', 'Warning', found.map(toSubject))]
}

/** Staged revisions; the API and the number of each, and since when it is staged. */
async function revisionsOf({ registry }: AttentionOptions, { tenant }: AttentionQuery): Promise<AttentionItem[]> {
  const where = { [STAGING_KEY]: 'true' }
  const found = await registry.list(PROXY_KIND, { tenant, where, limit: REVISIONS_MAX + 1 })
  const toSubject = ({ body }: (typeof found)[number]): Subject => {
    const { stagingRevision, revisions } = body.actor.context
    const staged = revisions.find(({ revision }) => revision === stagingRevision)
    const at = staged === undefined ? null : toTime(staged.atMs)
    return { id: body.api, name: String(stagingRevision), parent: null, at }
  }
  return [item('revision', 'Info', found.map(toSubject), REVISIONS_MAX)]
}

/** The path of a receiver may contain a secret. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? ''
}

async function credentialsOf(options: AttentionOptions, query: AttentionQuery): Promise<AttentionItem[]> {
  const { registry, clock } = options
  const { tenant, consumer } = query
  const where = { [EXPIRING_KEY]: 'yes' }
  const found =
    consumer === null
      ? await registry.list(CREDENTIAL_KIND, { tenant, where, limit: COUNT_MAX + 1 })
      : await ofConsumer(options, tenant, consumer, where)
  const nowMs = clock.nowMs()
  const soon = found.filter(({ body }) => body.expiresAtMs > nowMs)
  const first = soon.toSorted((one, other) => one.body.expiresAtMs - other.body.expiresAtMs)
  const named = await Promise.all(
    first.map(async ({ id, body }, index) => ({
      id,
      name: index < SUBJECTS_MAX ? await consumerOf(registry, body.subscription) : '',
      parent: body.subscription,
      at: toTime(body.expiresAtMs),
    })),
  )
  return [item('credential', 'Warning', named)]
}

type DocumentOf<Kind> = Kind extends DocumentKind<infer Body> ? Document<Body> : never

async function ofConsumer(
  { registry }: AttentionOptions,
  tenant: string,
  consumer: string,
  where: Readonly<Record<string, string>>,
): Promise<readonly DocumentOf<typeof CREDENTIAL_KIND>[]> {
  const held = await registry.list(SUBSCRIPTION_KIND, { tenant, where: { consumer }, limit: SUBSCRIPTIONS_MAX })
  const found = await Promise.all(
    held.map(({ id }) =>
      registry.list(CREDENTIAL_KIND, { tenant, where: { ...where, subscription: id }, limit: SUBJECTS_MAX }),
    ),
  )
  return found.flat()
}

async function consumerOf(registry: Pick<Registry, 'get'>, subscription: string): Promise<string> {
  const held = await registry.get(SUBSCRIPTION_KIND, subscription)
  const consumer = held === null ? null : await registry.get(CONSUMER_KIND, held.body.consumer)
  return consumer === null || held === null ? '' : `${consumer.body.name} · ${held.body.api}`
}
