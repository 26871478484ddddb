import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CallRecord } from '../../../src/record/call-record.ts'
import { attribution, call, START_MS } from '../../fixtures/calls.ts'
import { createWorld, type World } from '../../fixtures/test-stream.ts'

let folder: string
let world: World
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pipeline-'))
  world = await createWorld(join(folder, 'checkpoint.db'), START_MS)
})
afterEach(() => {
  world.close()
  rmSync(folder, { recursive: true, force: true })
})

function write(records: readonly CallRecord[], source = 'gateway-0'): void {
  world.spool.append(source, records)
  world.spool.grow()
}

const served = (count: number, timeMs = world.clock.nowMs()) =>
  Array.from({ length: count }, () => call(attribution(), timeMs))
const refused = (count: number, timeMs = world.clock.nowMs()) =>
  Array.from({ length: count }, () => call(attribution(), timeMs, 'payload_invalid'))
const billed = () => world.items.reduce((sum, { calls }) => sum + calls, 0)

describe('pipeline', () => {
  it('tells of a first risk at once, and of a burst within 20 ms', async () => {
    await world.start()
    write(refused(1))
    expect(world.told).toMatchObject([
      { phase: 'opened', tenant: 'acme', riskId: expect.stringMatching(/^rsk_/) as string },
    ])
    await world.clock.advance(1)
    write([call(attribution({ consumer: 'con_2' }), world.clock.nowMs(), 'payload_invalid')])
    await world.clock.advance(20)

    expect(world.told).toHaveLength(2)
  })

  it('has line items in the store about a second after the calls', async () => {
    await world.start()
    write(served(5))
    await world.clock.advance(1_000)

    expect(world.items).toMatchObject([{ calls: 5, unitsMicro: 5_000_000n, windowStartMs: START_MS }])
  })

  it('takes in everything before `flush` resolves, also where nobody told of growth', async () => {
    await world.start()
    world.spool.append('gateway-0', served(3))
    world.spool.append('gateway-1', served(4))
    await world.pipeline.flush()

    expect(billed()).toBe(7)
  })

  it('deletes a segment when both metering and risk have left it', async () => {
    await world.start()
    write(served(3))
    world.spool.roll('gateway-0')
    write(refused(3))
    expect(world.spool.segments).toBe(2)
    await world.clock.advance(2_100)

    expect(world.spool.segments).toBe(1)
  })

  it('keeps risks live while the store is away, and bills everything once when it is back', async () => {
    await world.start()
    world.away = true
    for (let minute = 0; minute < 6; minute++) {
      write([...served(100), call(attribution({ consumer: `con_${minute}` }), world.clock.nowMs(), 'payload_invalid')])
      await world.clock.advance(60_000)
    }
    expect(world.told.filter(({ phase }) => phase === 'opened')).toHaveLength(6)
    expect(world.called).toBe(606)
    expect(billed()).toBe(0)
    world.away = false
    await world.clock.advance(12_000)

    expect(billed()).toBe(600)
    expect(world.counted.get('flush_failed')).toBeGreaterThan(10)
    expect(new Set(world.history.map(({ id }) => id))).toEqual(new Set(world.told.map(({ id }) => id)))
  })

  it('holds metering back beyond a bound and not risk, while the store is away', { timeout: 60_000 }, async () => {
    await world.start()
    world.away = true
    write(served(1))
    await world.clock.advance(1_100)
    const by = attribution()
    for (let batch = 0; batch < 150; batch++)
      world.spool.append(
        'gateway-0',
        Array.from({ length: 1_000 }, (_, index) => call(by, START_MS + (batch * 1_000 + index) * 10_000)),
      )
    await world.clock.advance(3_000)
    expect(world.counted.get('metering_held_back')).toBe(1)
    write(refused(1, START_MS + 2_000_000_000))
    await world.clock.advance(100)
    expect(world.told).toMatchObject([{ phase: 'opened' }])
    world.away = false
    await world.clock.advance(20_000)

    expect(billed()).toBe(150_001)
  })

  it('starts while the store is away, and finishes then what an earlier process began', async () => {
    await world.start()
    world.away = true
    write(served(5))
    await world.clock.advance(1_500)
    await world.start()
    write(served(6))
    await world.clock.advance(5_000)
    expect(billed()).toBe(0)
    world.away = false
    await world.clock.advance(12_000)

    expect(billed()).toBe(11)
  })

  it('gives up the last flush after ten seconds, and finds it again at the next start', async () => {
    await world.start()
    world.away = true
    write(served(5))
    const stopping = world.pipeline.stop()
    await world.clock.advance(10_000)
    await stopping
    world.away = false
    await world.start()
    await world.clock.advance(1_100)

    expect(billed()).toBe(5)
    expect(world.inserts).toHaveLength(1)
  })

  it('clears an episode by silence alone, in five minutes of the clock', async () => {
    await world.start()
    write(refused(1))
    await world.clock.advance(299_000)
    expect(world.told.map(({ phase }) => phase)).toEqual(['opened'])
    await world.clock.advance(2_000)

    expect(world.told.map(({ phase }) => phase)).toEqual(['opened', 'cleared'])
    expect(await world.pipeline.risks.position({ tenant: 'acme', state: 'open', limit: 10 })).toEqual([])
    const cleared = await world.pipeline.risks.position({ tenant: 'acme', state: 'cleared', limit: 10 })
    expect(cleared).toMatchObject([{ state: 'cleared', event: { riskId: world.told[0]?.riskId, phase: 'cleared' } }])
  })

  it('gives the position with the numbers of now, by tenant and filter', async () => {
    await world.start()
    write([
      ...refused(4),
      call(attribution({ tenant: 'other' }), START_MS, 'payload_invalid'),
      call(attribution(), START_MS, 'rate_limited'),
    ])
    const position = (query: object) =>
      world.pipeline.risks.position({ tenant: 'acme', state: 'open', limit: 10, ...query })

    expect(await position({})).toHaveLength(2)
    expect(await position({ severity: 'Critical' })).toMatchObject([
      { event: { type: 'ProtectionViolation', count: 4 } },
    ])
    expect(await position({ attributedTo: 'nobody' })).toEqual([])
    const [first] = await position({ limit: 1 })
    expect(await position({ after: first!.event.riskId })).toHaveLength(1)
  })

  it('goes on with an episode after a restart: one risk, rising ids, no event twice', async () => {
    await world.start()
    write(refused(1))
    await world.clock.advance(1_100)
    await world.start()
    write(refused(1))
    await world.clock.advance(11_000)

    expect(world.told.map(({ phase }) => phase)).toEqual(['opened', 'updated'])
    expect(new Set(world.told.map(({ riskId }) => riskId)).size).toBe(1)
    expect(world.told[1]!.id > world.told[0]!.id).toBe(true)
  })

  it('writes nothing to the disk while nothing happens', async () => {
    await world.start()
    write(refused(1))
    await world.clock.advance(3_000)
    const steps = world.steps
    await world.clock.advance(10_000)
    // Releasing and asking the outbox, each before and after.
    expect(world.steps - steps).toBe(10 * 4)
  })
})
