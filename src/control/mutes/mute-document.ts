/** The registry document of a mute, found by the key of the episodes that it is for. */

import { createHash } from 'node:crypto'
import { dueWrite } from '../command/due-times.ts'
import type { AttributedTo, RiskEvent, RiskType } from '../../foundation/domain/risk.ts'
import { documentKind, type Document, type Registry, type Write } from '../../storage/store/registry.ts'

/** The party of an episode without its name, which could be erased. */
export type MutedParty = Omit<AttributedTo, 'name'>

export interface MuteBody {
  /** The episode that it was made for. */
  readonly riskId: string
  readonly type: RiskType
  readonly api: string
  readonly attributedTo: MutedParty
  readonly reason: string
  readonly untilMs: number
  /** The person, the agent or the consumer that made it. */
  readonly mutedBy: string
  /** Missing while it is active. */
  readonly endedAtMs?: number
}

export type MuteState = 'Active' | 'Ended'

export const MUTE_DUE = 'risk_mute'
/** An ended mute stays in the lists for this long. */
const KEPT_MS = 30 * 86_400_000

export const MUTE_KIND = documentKind<MuteBody>('mute', [
  'riskId',
  'type',
  'api',
  'attributedTo',
  'reason',
  'untilMs',
  'mutedBy',
  'endedAtMs',
])

/** An episode has one active mute at most. */
export function muteWrite(id: string, tenant: string, expected: number, body: MuteBody): Write {
  const episode = episodeKey(tenant, body)
  const isActive = body.endedAtMs === undefined
  const state: MuteState = isActive ? 'Active' : 'Ended'
  const keys = { episode, state, api: body.api, ...(isActive && { active: episode }) }
  return { kind: MUTE_KIND, id, tenant, expected, body, keys, unique: ['active'] }
}

/** Returns the writes that end a mute, and remove it later. */
export function endWrites({ id, tenant, revision, body }: Document<MuteBody>, endedAtMs: number): readonly Write[] {
  const removal = { tenant, kind: MUTE_DUE, subject: id, atMs: removalMs(endedAtMs) }
  return [muteWrite(id, tenant, revision, { ...body, endedAtMs }), dueWrite(removal)]
}

export function removalMs(endedAtMs: number): number {
  return endedAtMs + KEPT_MS
}

/** Hashed, because the id of a party can be long. Episodes with the same key follow each other. */
export function episodeKey(tenant: string, { type, api, attributedTo }: EpisodeOf): string {
  const { kind, id, consumer = '', onBehalfOf = '' } = attributedTo
  const key = JSON.stringify([tenant, type, api, kind, id, consumer, onBehalfOf])
  return createHash('sha256').update(key).digest('base64url')
}

export interface EpisodeOf extends Pick<RiskEvent, 'type' | 'api'> {
  readonly attributedTo: MutedParty
}

/** Returns the active mute of an episode, which may be past its end; null if there is none. */
export function findActive(
  registry: Pick<Registry, 'find'>,
  tenant: string,
  episode: EpisodeOf,
): Promise<Document<MuteBody> | null> {
  return registry.find(MUTE_KIND, 'active', episodeKey(tenant, episode))
}
