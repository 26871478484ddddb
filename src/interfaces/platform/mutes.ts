/** `/v1/mutes` and `/v1/risks/{riskId}/mutes`: risk episodes that need no attention until a time, and why. */

import type { Mutes } from '../../control/mutes/mutes.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { RiskFeed } from '../../storage/store/risk-store.ts'
import type { Handlers, Operations } from './operation.ts'
import { riskProperties } from './risk-shape.ts'
import { id, instant, list, named, nullable, object, pagedQuery, prose, reference, text, time } from './schemas.ts'

const { riskId, type, api, attributedTo } = riskProperties
const state = { type: 'string', enum: ['Active', 'Ended'] } as const
const mute = named(
  'Mute',
  object({
    id,
    riskId: { ...riskId, description: 'The episode that it was made for.' },
    type,
    api,
    attributedTo,
    until: time,
    reason: text,
    state,
    mutedBy: { ...id, description: 'The person, the agent or the consumer that made it.' },
    createdAt: time,
    endedAt: nullable(time),
  }),
)
const shared = {
  tag: 'Risks',
  singleWidth: 'Mutes and their reasons are notes of the provider.',
} as const

export const MUTE_OPERATIONS = {
  createMute: {
    ...shared,
    method: 'POST',
    path: '/v1/risks/:riskId/mutes',
    summary: 'Mutes a risk episode, and those that follow with the same type, API and attributed party',
    description:
      'A mute is a note for people: the stream, the episodes, webhooks and the bill stay as they are. An episode has one active mute.',
    scope: 'risks:write',
    body: named(
      'MuteInput',
      object({
        until: { ...instant, description: 'In the future, at most 90 days away.' },
        reason: { ...prose, maxLength: 2_000 },
      }),
    ),
    status: 201,
    answer: mute,
    problems: ['state_conflict', 'name_taken'],
  },
  listMutesOfRisk: {
    ...shared,
    method: 'GET',
    path: '/v1/risks/:riskId/mutes',
    summary: 'Lists the mutes of a risk episode and of those with the same type, API and attributed party',
    scope: 'risks:read',
    query: pagedQuery(),
    status: 200,
    answer: list(mute),
  },
  getMute: {
    ...shared,
    method: 'GET',
    path: '/v1/risks/:riskId/mutes/:muteId',
    summary: 'Returns a mute',
    scope: 'risks:read',
    status: 200,
    answer: mute,
  },
  endMute: {
    ...shared,
    method: 'DELETE',
    path: '/v1/risks/:riskId/mutes/:muteId',
    summary: 'Ends a mute',
    scope: 'risks:write',
    status: 204,
    problems: ['state_conflict'],
    changes: 'getMute',
  },
  listMutes: {
    ...shared,
    method: 'GET',
    path: '/v1/mutes',
    summary: 'Lists mutes in the order of their creation; ended ones for 30 days',
    scope: 'risks:read',
    query: pagedQuery({ api: reference, state }),
    status: 200,
    answer: list(mute),
  },
} as const satisfies Operations

export interface MuteHandlersOptions {
  readonly mutes: Mutes
  readonly risks: Pick<RiskFeed, 'episode'>
}

export function muteHandlers({ mutes, risks }: MuteHandlersOptions): Handlers<typeof MUTE_OPERATIONS> {
  const latestOf = async (tenant: string, wanted: string): Promise<RiskEvent | null> =>
    (await risks.episode(tenant, wanted))?.event ?? null

  async function episodeOf(tenant: string, wanted: string): Promise<RiskEvent> {
    const event = await latestOf(tenant, wanted)
    if (event === null) throw episodeNotFound()
    return event
  }

  return {
    createMute: async ({ author, params, body }) =>
      mutes.create(author, await episodeOf(author.tenant, params.riskId), body),
    listMutesOfRisk: async ({ author, params, query }) =>
      mutes.listOf(author.tenant, await episodeOf(author.tenant, params.riskId), query),
    getMute: async ({ author, params }) =>
      mutes.get(author.tenant, params.riskId, await latestOf(author.tenant, params.riskId), params.muteId),
    endMute: async ({ author, params }) =>
      mutes.end(author, params.riskId, await latestOf(author.tenant, params.riskId), params.muteId),
    listMutes: async ({ author, query }) => mutes.list(author.tenant, query),
  }
}

export function episodeNotFound(): Problem {
  return new Problem('not_found', 'This risk episode does not exist, or it was cleared and its retention has ended.')
}
