/** Invariants of risks over several nodes. */

import { DEFAULT_RISK_RULES, severityOf } from '../../src/pipeline/risk/risk-rules.ts'
import { textOf } from '../../src/pipeline/risk/episode.ts'
import type { SavedEpisode } from '../../src/storage/store/risk-checkpoint.ts'
import type { SignalServer } from './signal-server.ts'

export class BrokenInvariant extends Error {}

/** Counts the calls of each party. */
export class CallLedger {
  readonly #calls = new Map<string, number>()

  add(party: string): void {
    this.#calls.set(party, (this.#calls.get(party) ?? 0) + 1)
  }

  get total(): number {
    return [...this.#calls.values()].reduce((sum, calls) => sum + calls, 0)
  }

  /** Checks that the episodes count every call once, and have the severity that one node would give them. */
  checkAll(server: SignalServer): void {
    const episodes = Map.groupBy(episodesOf(server), ({ event }) => event.attributedTo.id)
    for (const [party, calls] of this.#calls) {
      const ofParty = episodes.get(party) ?? []
      const counted = ofParty.reduce((sum, { event }) => sum + event.evidence.total, 0)
      if (counted !== calls) throw new BrokenInvariant(`${counted} of ${calls} calls of ${party} are counted`)
      const expected = severityOf(DEFAULT_RISK_RULES.AuthFailure403, calls, 0)
      const { severity } = ofParty[0]!.event
      if (ofParty.length === 1 && severity !== expected)
        throw new BrokenInvariant(`${calls} calls of ${party} are ${severity}`)
    }
  }
}

/** Checks that there is one open episode per key, and that positions and ids of events have one order without gaps. */
export function checkCommitted(server: SignalServer): void {
  const keys = episodesOf(server)
    .filter(({ state }) => state === 'open')
    .map(({ event: { tenant, type, api, attributedTo } }) => textOf({ tenant, type, api, attributedTo }))
  if (new Set(keys).size < keys.length) throw new BrokenInvariant(`two open episodes of one key: ${keys.join(', ')}`)
  const last = server.events.at(-1)
  if (last === undefined) return
  if (last.position !== server.events.length) throw new BrokenInvariant(`a gap before position ${last.position}`)
  const before = server.events.at(-2)
  if (before !== undefined && before.event.id >= last.event.id) throw new BrokenInvariant('ids of events do not ascend')
}

/** Checks that a node publishes exactly the next event. */
export function checkPublished(server: SignalServer, index: number, id: string): void {
  if (server.events[index]?.event.id !== id) throw new BrokenInvariant(`event ${id} is published in place of ${index}`)
}

function episodesOf({ episodes }: SignalServer): readonly SavedEpisode[] {
  return [...episodes.values()].map((body) => JSON.parse(body) as SavedEpisode)
}
