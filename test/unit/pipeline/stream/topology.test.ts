import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { createTestStream, type TestStream } from '../../../fixtures/test-stream.ts'

let folder: string
let stream: TestStream
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pipeline-'))
  stream = await createTestStream(join(folder, 'checkpoint.db'), START_MS)
})
afterEach(() => {
  stream.close()
  rmSync(folder, { recursive: true, force: true })
})

function write(records: readonly CallRecord[], source = 'gateway-0'): void {
  stream.spool.append(source, records)
  stream.spool.grow()
}

const served = (count: number, timeMs = stream.clock.nowMs()) =>
  Array.from({ length: count }, () => call(attribution(), timeMs))
const refused = (count: number, timeMs = stream.clock.nowMs()) =>
  Array.from({ length: count }, () => call(attribution(), timeMs, 'payload_invalid'))
const billed = () => stream.items.reduce((sum, { calls }) => sum + calls, 0)

describe('the pipeline', () => {
  it('publishes a first risk immediately, and a burst within 20 ms', async () => {
    await stream.start()
    write(refused(1))
    expect(stream.notified).toMatchObject([
      { phase: 'opened', tenant: 'acme', riskId: expect.stringMatching(/^rsk_/) as string },
    ])
    await stream.clock.advance(1)
    write([call(attribution({ consumer: 'con_2' }), stream.clock.nowMs(), 'payload_invalid')])
    await stream.clock.advance(20)

    expect(stream.notified).toHaveLength(2)
  })

  it('stores line items about a second after the calls', async () => {
    await stream.start()
    write(served(5))
    await stream.clock.advance(1_000)

    expect(stream.items).toMatchObject([{ calls: 5, unitsMicro: 5_000_000n, windowStartMs: START_MS }])
  })

  it('reads everything before `flush` resolves, also without a growth signal', async () => {
    await stream.start()
    stream.spool.append('gateway-0', served(3))
    stream.spool.append('gateway-1', served(4))
    await stream.pipeline.flush()

    expect(billed()).toBe(7)
  })

  it('deletes a segment after both metering and risk have passed it', async () => {
    await stream.start()
    write(served(3))
    stream.spool.roll('gateway-0')
    write(refused(3))
    expect(stream.spool.segments).toBe(2)
    await stream.clock.advance(2_100)

    expect(stream.spool.segments).toBe(1)
  })

  it('publishes risks while the store is unavailable, and bills every call once when it returns', async () => {
    await stream.start()
    stream.away = true
    for (let minute = 0; minute < 6; minute++) {
      write([...served(100), call(attribution({ consumer: `con_${minute}` }), stream.clock.nowMs(), 'payload_invalid')])
      await stream.clock.advance(60_000)
    }
    expect(stream.notified.filter(({ phase }) => phase === 'opened')).toHaveLength(6)
    expect(stream.called).toBe(606)
    expect(stream.observed).toBe(606)
    expect(billed()).toBe(0)
    stream.away = false
    await stream.clock.advance(12_000)

    expect(billed()).toBe(600)
    expect(stream.counted.get('flush_failed')).toBeGreaterThan(10)
    expect(new Set(stream.history.map(({ id }) => id))).toEqual(new Set(stream.notified.map(({ id }) => id)))
  })

  it('blocks metering at a bound, but not risk, while the store is unavailable', { timeout: 60_000 }, async () => {
    await stream.start()
    stream.away = true
    write(served(1))
    await stream.clock.advance(1_100)
    const by = attribution()
    for (let batch = 0; batch < 150; batch++)
      stream.spool.append(
        'gateway-0',
        Array.from({ length: 1_000 }, (_, index) => call(by, START_MS + (batch * 1_000 + index) * 10_000)),
      )
    await stream.clock.advance(3_000)
    expect(stream.counted.get('metering_held_back')).toBe(1)
    write(refused(1, START_MS + 2_000_000_000))
    await stream.clock.advance(100)
    expect(stream.notified).toMatchObject([{ phase: 'opened' }])
    stream.away = false
    await stream.clock.advance(20_000)

    expect(billed()).toBe(150_001)
  })

  it('starts while the store is unavailable, and then finishes the flush of the earlier process', async () => {
    await stream.start()
    stream.away = true
    write(served(5))
    await stream.clock.advance(1_500)
    await stream.start()
    write(served(6))
    await stream.clock.advance(5_000)
    expect(billed()).toBe(0)
    stream.away = false
    await stream.clock.advance(12_000)

    expect(billed()).toBe(11)
  })

  it('aborts the last flush after ten seconds, and finishes it at the next start', async () => {
    await stream.start()
    stream.away = true
    write(served(5))
    const stopping = stream.pipeline.stop()
    await stream.clock.advance(10_000)
    await stopping
    stream.away = false
    await stream.start()
    await stream.clock.advance(1_100)

    expect(billed()).toBe(5)
    expect(stream.inserts).toHaveLength(1)
  })

  it('clears an episode after five minutes of silence by the clock', async () => {
    await stream.start()
    write(refused(1))
    await stream.clock.advance(299_000)
    expect(stream.notified.map(({ phase }) => phase)).toEqual(['opened'])
    await stream.clock.advance(2_000)

    expect(stream.notified.map(({ phase }) => phase)).toEqual(['opened', 'cleared'])
    expect(await stream.pipeline.risks.position({ tenant: 'acme', state: 'open', limit: 10 })).toEqual([])
    const cleared = await stream.pipeline.risks.position({ tenant: 'acme', state: 'cleared', limit: 10 })
    expect(cleared).toMatchObject([
      { state: 'cleared', event: { riskId: stream.notified[0]?.riskId, phase: 'cleared' } },
    ])
  })

  it('returns the position with current numbers, by tenant and filter', async () => {
    await stream.start()
    write([
      ...refused(4),
      call(attribution({ tenant: 'other' }), START_MS, 'payload_invalid'),
      call(attribution(), START_MS, 'rate_limited'),
    ])
    const position = (query: object) =>
      stream.pipeline.risks.position({ tenant: 'acme', state: 'open', limit: 10, ...query })

    expect(await position({})).toHaveLength(2)
    expect(await position({ severity: 'Critical' })).toMatchObject([
      { event: { type: 'ProtectionViolation', count: 4 } },
    ])
    expect(await position({ attributedTo: 'nobody' })).toEqual([])
    const [first] = await position({ limit: 1 })
    expect(await position({ after: first!.event.riskId })).toHaveLength(1)
  })

  it('continues an episode after a restart: one risk, increasing ids, no event twice', async () => {
    await stream.start()
    write(refused(1))
    await stream.clock.advance(1_100)
    await stream.start()
    write(refused(1))
    await stream.clock.advance(11_000)

    expect(stream.notified.map(({ phase }) => phase)).toEqual(['opened', 'updated'])
    expect(new Set(stream.notified.map(({ riskId }) => riskId)).size).toBe(1)
    expect(stream.notified[1]!.id > stream.notified[0]!.id).toBe(true)
  })

  it('writes nothing to the disk while there are no calls', async () => {
    await stream.start()
    write(refused(1))
    await stream.clock.advance(3_000)
    const steps = stream.steps
    await stream.clock.advance(10_000)
    // A release and a query of the outbox, each counted before and after.
    expect(stream.steps - steps).toBe(10 * 4)
  })
})
