/** `GET /v1/risks`: the risk position, one item per episode; and one episode with its timeline. */

import { fromCursor, toCursor } from '../../control/command/page.ts'
import { consumerOf, type RiskEvent } from '../../foundation/domain/risk.ts'
import type { MuteOfEpisode, Mutes } from '../../control/mutes/mutes.ts'
import { timeOfId } from '../../foundation/runtime/ids.ts'
import type { RiskFeed } from '../../storage/store/risk-store.ts'
import { episodeNotFound } from './mutes.ts'
import type { Handlers, Operations } from './operation.ts'
import { riskProperties, showRisk } from './risk-shape.ts'
import { list, named, nullable, object, pagedQuery, reference, text, time } from './schemas.ts'

const { id, phase, category, severity, type, count, message } = riskProperties
const state = { type: 'string', enum: ['open', 'cleared'] } as const
const muted = { type: 'boolean' } as const
const mute = {
  ...nullable(named('MuteOfRisk', object({ id, until: time, reason: text }))),
  description: 'The active mute of the episode. Null with the own width of the scope.',
}

export const RISK_OPERATIONS = {
  listRisks: {
    method: 'GET',
    path: '/v1/risks',
    summary: 'Lists the risk position: one item per episode, in the order of opening',
    description:
      'The `id` of an item is the `riskId` in the stream. Cleared episodes are retained for 30 days by default.',
    tag: 'Risks',
    scope: 'risks:read',
    own: 'filtered',
    query: pagedQuery({
      category,
      severity: { ...severity, description: 'Minimum severity.' },
      type,
      api: reference,
      attributedTo: { ...reference, description: 'Id of the attributed party.' },
      state: { ...state, default: 'open' },
      muted: {
        ...muted,
        description: 'Only episodes with an active mute, or only those without. With the own width none has one.',
      },
    }),
    status: 200,
    answer: list(named('Risk', object({ ...riskProperties, state, muted, mute }))),
  },
  getRisk: {
    method: 'GET',
    path: '/v1/risks/:riskId',
    summary: 'Returns a risk episode with its events, oldest first',
    tag: 'Risks',
    scope: 'risks:read',
    own: 'filtered',
    status: 200,
    answer: named(
      'RiskTimeline',
      object({
        ...riskProperties,
        state,
        muted,
        mute,
        timeline: { type: 'array', items: object({ id, phase, severity, count, time, message }) },
      }),
    ),
  },
} as const satisfies Operations

export interface RiskHandlersOptions {
  readonly risks: RiskFeed
  readonly mutes: Pick<Mutes, 'active' | 'activeOf'>
}

export function riskHandlers({ risks, mutes }: RiskHandlersOptions): Handlers<typeof RISK_OPERATIONS> {
  return {
    async listRisks({ author, owner, query }) {
      const { limit, cursor, muted, ...filter } = query
      const after = cursor === undefined ? {} : { after: fromCursor(cursor) }
      const muteOf = owner === null ? await mutes.active(author.tenant) : () => null
      const found = await risks.position({
        tenant: author.tenant,
        ...filter,
        ...(owner !== null && { consumer: owner }),
        ...(muted !== undefined && { selects: (event: RiskEvent) => (muteOf(event) !== null) === muted }),
        ...after,
        limit: limit + 1,
      })
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      return {
        items: shown.map(({ event, state: is }) => ({
          ...showRisk(event),
          id: event.riskId,
          state: is,
          ...toMuted(muteOf(event)),
        })),
        next: found.length > limit && last !== undefined ? toCursor(last.event.riskId) : null,
      }
    },
    async getRisk({ author, owner, params }) {
      const found = await risks.episode(author.tenant, params.riskId)
      if (found === null || (owner !== null && consumerOf(found.event.attributedTo) !== owner)) throw episodeNotFound()
      const { event, state: is, timeline } = found
      return {
        ...showRisk(event),
        id: event.riskId,
        state: is,
        ...toMuted(owner === null ? await mutes.activeOf(author.tenant, event) : null),
        timeline: timeline.map((entry) => ({
          id: entry.id,
          phase: entry.phase,
          severity: entry.severity,
          count: entry.count,
          time: new Date(timeOfId(entry.id)).toISOString(),
          message: entry.message,
        })),
      }
    },
  }
}

function toMuted(found: MuteOfEpisode | null) {
  return { muted: found !== null, mute: found }
}
