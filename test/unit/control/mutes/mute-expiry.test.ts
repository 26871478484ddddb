import { expect, it } from 'vitest'
import { createScheduler } from '../../../../src/control/command/scheduler.ts'
import { MUTE_DUE, MUTE_KIND } from '../../../../src/control/mutes/mute-document.ts'
import { createMuteExpiry } from '../../../../src/control/mutes/mute-expiry.ts'
import { ACTIVE_MAX, createMutes } from '../../../../src/control/mutes/mutes.ts'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'
import { ACME, NOW_MS, openTestCatalogue, RIVAL } from '../../../fixtures/test-catalogue.ts'

const HOUR_MS = 3_600_000
const KEPT_MS = 30 * 24 * HOUR_MS
const INPUT = { until: new Date(NOW_MS + HOUR_MS).toISOString(), reason: 'Known' }

async function setUp() {
  const { registry, createId } = openTestCatalogue()
  const clock = createFakeClock(NOW_MS)
  const mutes = createMutes({ registry, createId, clock })
  const handlers = { [MUTE_DUE]: createMuteExpiry({ registry, clock }) }
  /** Starts as the service does, and runs what is due. */
  const start = async (): Promise<void> => {
    const scheduler = createScheduler({ registry, clock, handlers, log: createLog('silent'), count: () => {} })
    await scheduler.start()
    scheduler.stop()
  }
  const actionsOf = async (id: string) =>
    (await registry.history({ tenant: 'acme', id, bodiesOf: [], limit: 9 })).map(({ action }) => action)
  return { registry, clock, mutes, start, actionsOf }
}

it('A mute ends at its time, is kept for a month, and is then removed, also if the service did not run', async () => {
  const { registry, clock, mutes, start, actionsOf } = await setUp()
  const { id } = await mutes.create(ACME, riskEvent(), INPUT)
  await start()
  expect((await registry.get(MUTE_KIND, id))?.body.endedAtMs).toBeUndefined()
  await clock.advance(HOUR_MS)
  await start()
  expect((await registry.get(MUTE_KIND, id))?.body.endedAtMs).toBe(NOW_MS + HOUR_MS)
  expect((await mutes.list('acme', { limit: 9, state: 'Active' })).items).toEqual([])
  await clock.advance(KEPT_MS)
  await start()
  expect(await registry.get(MUTE_KIND, id)).toBeNull()
  expect(await actionsOf(id)).toEqual(['mute.remove', 'mute.expire', 'mute.create'])
})

it('A mute that was ended early is removed a month later, and not ended again', async () => {
  const { registry, clock, mutes, start, actionsOf } = await setUp()
  const event = riskEvent()
  const { id } = await mutes.create(ACME, event, INPUT)
  await mutes.end(ACME, event.riskId, event, id)
  await clock.advance(HOUR_MS)
  await start()
  expect((await registry.get(MUTE_KIND, id))?.body.endedAtMs).toBe(NOW_MS)
  await clock.advance(KEPT_MS)
  await start()
  expect(await actionsOf(id)).toEqual(['mute.remove', 'mute.end', 'mute.create'])
})

it('A tenant has a bounded number of active mutes, and takes none from another tenant', async () => {
  const { mutes } = await setUp()
  for (let number = 0; number < ACTIVE_MAX; number++)
    await mutes.create(ACME, riskEvent({ api: `api-${number}` }), INPUT)
  await expect(mutes.create(ACME, riskEvent({ api: 'more' }), INPUT)).rejects.toMatchObject({ code: 'state_conflict' })
  const event = riskEvent({ tenant: 'rival', api: 'api-0' })
  expect(await (await mutes.active('rival'))(event)).toBeNull()
  expect((await mutes.create(RIVAL, event, INPUT)).state).toBe('Active')
})

it('Two people who mute the same episode at once make one mute', async () => {
  const { mutes } = await setUp()
  const event = riskEvent()
  const outcomes = await Promise.allSettled([mutes.create(ACME, event, INPUT), mutes.create(ACME, event, INPUT)])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect((await mutes.list('acme', { limit: 9 })).items).toHaveLength(1)
})
