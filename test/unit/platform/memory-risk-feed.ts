/** Risks of a test: the position as it was put there, the past as a list, the live feed by hand. */

import type { RiskEvent } from '../../../src/domain/risk.ts'
import type { RiskFeed, RiskPosition } from '../../../src/store/risk-store.ts'

export interface MemoryRiskFeed extends RiskFeed {
  readonly positions: RiskPosition[]
  readonly history: RiskEvent[]
  /** Fails every subscription that would resume, while it is set. */
  broken: Error | null
  publish(event: RiskEvent): void
  readonly subscribers: number
}

const PAGE = 100

export function createMemoryRiskFeed(): MemoryRiskFeed {
  const positions: RiskPosition[] = []
  const history: RiskEvent[] = []
  const listeners = new Map<(event: RiskEvent) => void, string>()

  const feed: MemoryRiskFeed = {
    positions,
    history,
    broken: null,
    get subscribers() {
      return listeners.size
    },
    publish(event) {
      history.push(event)
      for (const [listener, tenant] of listeners) if (tenant === event.tenant) listener(event)
    },
    position: async ({ tenant, state, severity, after = '', limit }) =>
      positions
        .filter(({ event, state: is }) => event.tenant === tenant && is === state && event.riskId > after)
        .filter(({ event }) => severity === undefined || event.severity === severity)
        .slice(0, limit),
    async episode(tenant, riskId) {
      const found = positions.find(({ event }) => event.tenant === tenant && event.riskId === riskId)
      const timeline = history.filter((event) => event.tenant === tenant && event.riskId === riskId)
      return found === undefined ? null : { ...found, timeline }
    },
    async subscribe(tenant, afterId, listener, drained = async () => {}) {
      if (feed.broken !== null && afterId !== null) throw feed.broken
      for (let last = afterId; last !== null; await drained()) {
        const after = last
        const page = history.filter((event) => event.tenant === tenant && event.id > after).slice(0, PAGE)
        for (const event of page) listener(event)
        last = page.at(-1)?.id ?? null
      }
      const own = (event: RiskEvent): void => listener(event)
      listeners.set(own, tenant)
      return () => void listeners.delete(own)
    },
  }
  return feed
}
