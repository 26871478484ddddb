import { describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import { LiveRiskFeed } from '../../../../src/pipeline/risk/live-risk-feed.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'

const idOf = (position: number): string => `evt_${String(position).padStart(6, '0')}`
const event = (position: number, tenant = 'acme'): RiskEvent => riskEvent({ id: idOf(position), tenant })
const ready = async (): Promise<void> => {}

/** A feed of one node; other nodes have committed `others`, which this node publishes when it is asked to. */
function open({
  others = [],
  stored = [],
  isReachable = true,
}: Partial<{
  others: RiskEvent[]
  stored: RiskEvent[]
  isReachable: boolean
}> = {}) {
  const feed: LiveRiskFeed = new LiveRiskFeed({
    store: {
      eventsAfter: async (tenant, afterId, limit) =>
        stored.filter(({ id, tenant: of }) => of === tenant && id > afterId).slice(0, limit),
    },
    checkpoint: { lastEventId: () => idOf(5), waiting: () => [] },
    async refresh() {
      if (isReachable) feed.publish(others.splice(0))
      return isReachable
    },
    onBroken: () => {},
  })
  const heard: string[] = []
  const listen = (afterId: string | null, tenant = 'acme') =>
    feed.subscribe(tenant, afterId, ({ id }) => heard.push(id), ready)
  return { feed, heard, listen }
}

describe('The live feed of a node', () => {
  it('sends no event again that the reader has had from another node', async () => {
    const { feed, heard, listen } = open({ others: [event(6), event(7)] })
    await listen(idOf(6))
    feed.publish([event(8)])
    expect(heard).toEqual([idOf(7), idOf(8)])
  })

  it('sends no event again although the others cannot be asked', async () => {
    const { feed, heard, listen } = open({ isReachable: false })
    await listen(idOf(6))
    feed.publish([event(6), event(7)])
    expect(heard).toEqual([idOf(7)])
  })

  it('starts with the next event after an id that nobody has given out', async () => {
    const { feed, heard, listen } = open()
    await listen(idOf(900_000))
    feed.publish([event(6)])
    expect(heard).toEqual([idOf(6)])
  })

  it('sends the events of a gap from the store, once, and those after it as they are published', async () => {
    const stored = [event(6), event(7), event(7, 'rival'), event(8)]
    const { feed, heard, listen } = open({ stored })
    await listen(null)
    feed.publish([event(6)])
    await feed.fillGap(idOf(6), idOf(8))
    await feed.fillGap(idOf(6), idOf(8))
    feed.publish([event(8), event(9)])
    expect(heard).toEqual([6, 7, 8, 9].map(idOf))
  })

  it('resumes from before a gap without loss', async () => {
    const stored = [event(6), event(7), event(8)]
    const { feed, heard, listen } = open({ stored })
    feed.publish([event(6)])
    await feed.fillGap(idOf(6), idOf(8))
    feed.publish([event(8)])
    await listen(idOf(6))
    expect(heard).toEqual([7, 8].map(idOf))
  })
})
