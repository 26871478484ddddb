import { describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import { createRiskFeed } from '../../../../src/pipeline/risk/risk-feed.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'

describe('A subscriber that resumes', () => {
  it('receives past events only as fast as it reads them, then those published meanwhile, each once and in order', async () => {
    const history = Array.from({ length: 2_500 }, () => riskEvent())
    const feed = createRiskFeed({
      store: {
        eventsAfter: async (_tenant, afterId, limit) => history.filter(({ id }) => id > afterId).slice(0, limit),
        eventsOf: async () => [],
      },
      checkpoint: {
        clearedEpisode: () => null,
        clearedEpisodes: () => [],
        waiting: () => [],
        lastEventId: () => history.at(-1)?.id ?? '',
      },
      open: () => [],
      nowMs: () => 0,
      matches: () => true,
      onBroken: (cause) => expect.fail(String(cause)),
    })
    const received: RiskEvent[] = []
    const live: RiskEvent[] = []
    let unread = 0
    const stop = await feed.subscribe(
      'acme',
      history[0]?.id ?? '',
      (event) => {
        received.push(event)
        unread++
      },
      async () => {
        expect(unread).toBeLessThanOrEqual(100)
        await new Promise((resolve) => setImmediate(resolve))
        unread = 0
        if (live.length < 150) {
          live.push(riskEvent(), riskEvent())
          feed.publish(live.slice(-2))
        }
      },
    )
    live.push(riskEvent())
    feed.publish(live.slice(-1))
    stop()
    feed.publish([riskEvent()])

    expect(received.map(({ id }) => id)).toEqual([...history.slice(1), ...live].map(({ id }) => id))
  })
})
