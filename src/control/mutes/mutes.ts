/**
 * Mutes of risk episodes: a note, with a reason and an end, that an episode needs no attention.
 *
 * A mute is for the key of an episode (type, API and attributed party), so that the next episode of the same key is muted as well. It
 * changes no episode, event, delivery or bill; readers of the risk position see it beside the episode.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { commit, find, invalidAt, notFound, toTime } from '../command/commands.ts'
import { dropDueWrite, dueWrite } from '../command/due-times.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { consumerOf, type AttributedTo, type RiskEvent, type RiskType } from '../../foundation/domain/risk.ts'
import { CONSUMER_KIND } from '../access/consumer-document.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import {
  endWrites,
  episodeKey,
  findActive,
  MUTE_DUE,
  MUTE_KIND,
  muteWrite,
  type EpisodeOf,
  type MuteBody,
  type MuteState,
} from './mute-document.ts'

export interface Mute {
  readonly id: string
  readonly riskId: string
  readonly type: RiskType
  readonly api: string
  /** The name is empty if the party is not a consumer, or was removed. */
  readonly attributedTo: AttributedTo
  readonly until: string
  readonly reason: string
  readonly state: MuteState
  readonly mutedBy: string
  readonly createdAt: string
  readonly endedAt: string | null
}

/** The mute of an episode, as the risk position shows it. */
export interface MuteOfEpisode {
  readonly id: string
  readonly until: string
  readonly reason: string
}

export interface MuteInput {
  readonly until: string
  readonly reason: string
}

export interface MuteFilter extends PageQuery {
  readonly api?: string
  readonly state?: MuteState
}

export interface Mutes {
  /** Mutes an episode and those that follow with the same key. */
  create(author: Author, episode: RiskEvent, input: MuteInput): Promise<Mute>
  /** Returns a mute of the episode. `episode` is null if its retention has ended. */
  get(tenant: string, riskId: string, episode: RiskEvent | null, id: string): Promise<Mute>
  end(author: Author, riskId: string, episode: RiskEvent | null, id: string): Promise<void>
  list(tenant: string, filter: MuteFilter): Promise<Page<Mute>>
  /** Lists the mutes of an episode and of those before it with the same key. */
  listOf(tenant: string, episode: RiskEvent, query: PageQuery): Promise<Page<Mute>>
  /** Returns a function that finds the active mute of an episode, from one read for all episodes. */
  active(tenant: string): Promise<(episode: EpisodeOf) => MuteOfEpisode | null>
  /** Returns the active mute of one episode. */
  activeOf(tenant: string, episode: EpisodeOf): Promise<MuteOfEpisode | null>
}

export interface MutesOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
}

const DAYS_MAX = 90
/** Bounds the mutes that one read of the risk position loads. */
export const ACTIVE_MAX = 500

export function createMutes(options: MutesOptions): Mutes {
  const { registry, createId, clock } = options
  const isCurrent = ({ body }: Document<MuteBody>): boolean => body.untilMs > clock.nowMs()

  async function showPage(
    tenant: string,
    query: PageQuery,
    where: Readonly<Record<string, string | undefined>>,
  ): Promise<Page<Mute>> {
    const shared = { registry, kind: MUTE_KIND, tenant, query, where }
    const { items, next } = await listPage({ ...shared, show: (mute: Document<MuteBody>) => mute })
    return { items: await Promise.all(items.map((each) => show(options, each))), next }
  }

  return {
    async create(author, episode, { until, reason }) {
      const { tenant } = author
      const untilMs = toUntilMs(until, clock.nowMs())
      await checkNotMuted(options, tenant, episode)
      await checkLimit(registry, tenant)
      const { riskId, type, api, attributedTo } = episode
      const { name: _, ...party } = attributedTo
      const mutedBy = author.person ?? author.agent ?? author.consumer
      const body = { riskId, type, api, attributedTo: party, reason, untilMs, mutedBy }
      const id = createId('mut')
      const end = dueWrite({ tenant, kind: MUTE_DUE, subject: id, atMs: untilMs })
      await commit(
        registry,
        author,
        'mute.create',
        [muteWrite(id, tenant, 0, body), end],
        'The episode is muted already.',
      )
      return show(options, await find(registry, tenant, MUTE_KIND, id))
    },
    get: async (tenant, riskId, episode, id) => show(options, await findOf(registry, tenant, { riskId, episode }, id)),
    async end(author, riskId, episode, id) {
      const mute = await findOf(registry, author.tenant, { riskId, episode }, id)
      if (mute.body.endedAtMs !== undefined) throw hasEnded()
      const expiry = await dropDueWrite(registry, MUTE_DUE, id, mute.body.untilMs)
      await commit(registry, author, 'mute.end', [...endWrites(mute, clock.nowMs()), ...expiry])
    },
    list: (tenant, { api, state, ...query }) => showPage(tenant, query, { api, state }),
    listOf: (tenant, episode, query) => showPage(tenant, query, { episode: episodeKey(tenant, episode) }),
    async active(tenant) {
      const mutes = await registry.list(MUTE_KIND, { tenant, where: { state: 'Active' }, limit: ACTIVE_MAX })
      const known = new Map(mutes.filter(isCurrent).map((mute) => [episodeKey(tenant, mute.body), toMute(mute)]))
      return (episode) => (known.size === 0 ? null : (known.get(episodeKey(tenant, episode)) ?? null))
    },
    async activeOf(tenant, episode) {
      const mute = await findActive(registry, tenant, episode)
      return mute === null || !isCurrent(mute) ? null : toMute(mute)
    },
  }
}

interface Wanted {
  readonly riskId: string
  readonly episode: RiskEvent | null
}

/** Finds a mute through the episode that it was made for, or through another one with the same key. */
async function findOf(registry: Registry, tenant: string, { riskId, episode }: Wanted, id: string) {
  const mute = await find(registry, tenant, MUTE_KIND, id)
  const isOfEpisode = episode !== null && episodeKey(tenant, episode) === episodeKey(tenant, mute.body)
  if (!isOfEpisode && mute.body.riskId !== riskId) throw notFound(MUTE_KIND, id)
  return mute
}

/** Ends a mute whose time has passed and that the scheduler has not reached yet. */
async function checkNotMuted({ registry, clock }: MutesOptions, tenant: string, episode: RiskEvent): Promise<void> {
  const known = await findActive(registry, tenant, episode)
  if (known === null) return
  if (known.body.untilMs <= clock.nowMs())
    return commit(registry, { tenant, consumer: 'system' }, 'mute.expire', endWrites(known, known.body.untilMs))
  const until = toTime(known.body.untilMs)
  throw new Problem('state_conflict', `The episode is muted until ${until} by ${known.id}; end that mute first.`, {
    extensions: { state: 'Active', allowed: ['unmute'] },
  })
}

async function checkLimit(registry: Registry, tenant: string): Promise<void> {
  const active = await registry.list(MUTE_KIND, { tenant, where: { state: 'Active' }, limit: ACTIVE_MAX })
  if (active.length < ACTIVE_MAX) return
  throw new Problem('state_conflict', `A tenant has at most ${ACTIVE_MAX} active mutes; end one that is not needed.`, {
    extensions: { state: 'full', allowed: ['unmute'] },
  })
}

function hasEnded(): Problem {
  return new Problem('state_conflict', 'The mute has ended.', { extensions: { state: 'Ended', allowed: [] } })
}

function toUntilMs(until: string, nowMs: number): number {
  const untilMs = Date.parse(until)
  if (!(untilMs > nowMs)) throw invalidAt('/until', 'The time must be in the future.')
  if (untilMs <= nowMs + DAYS_MAX * DAY_MS) return untilMs
  throw invalidAt('/until', `The time must be at most ${DAYS_MAX} days away.`)
}

function toMute({ id, body: { untilMs, reason } }: Document<MuteBody>): MuteOfEpisode {
  return { id, until: toTime(untilMs), reason }
}

async function show(
  { registry, clock }: MutesOptions,
  { id, tenant, body, createdAtMs }: Document<MuteBody>,
): Promise<Mute> {
  const { riskId, type, api, attributedTo, untilMs, reason, mutedBy } = body
  const endedAtMs = body.endedAtMs ?? (untilMs <= clock.nowMs() ? untilMs : null)
  return {
    ...{ id, riskId, type, api, reason, mutedBy },
    attributedTo: { ...attributedTo, name: await nameOf(registry, tenant, { ...attributedTo, name: '' }) },
    until: toTime(untilMs),
    state: endedAtMs === null ? 'Active' : 'Ended',
    createdAt: toTime(createdAtMs),
    endedAt: endedAtMs === null ? null : toTime(endedAtMs),
  }
}

/** Read when it is shown, so that an erased name is not kept here. */
async function nameOf(registry: Registry, tenant: string, party: AttributedTo): Promise<string> {
  const consumer = consumerOf(party)
  if (consumer === '' || consumer !== party.id) return ''
  const document = await registry.get(CONSUMER_KIND, consumer)
  return document?.tenant === tenant ? document.body.name : ''
}
