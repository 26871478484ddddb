import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { createFreshnessMemory, openFreshness, readMoment } from '../../../../src/foundation/runtime/freshness.ts'

const HOUR_MS = 3_600_000

/** A process whose clocks a test moves: both, or only the system clock. */
function open() {
  const time = { monotonicMs: 5_000, systemMs: 1_800_000_000_000 }
  const freshness = openFreshness(createFreshnessMemory(), () => ({ ...time }))
  const forward = (ms: number): void => {
    time.monotonicMs += ms
    time.systemMs += ms
  }
  return { ...freshness, time, forward }
}

describe('a process that may serve for a time without the registry', () => {
  it('is stale before it was ever up to date', () => {
    expect(open().isStale()).toBe(true)
    expect(openFreshness(createFreshnessMemory()).isStale()).toBe(true)
  })

  it('is stale once the time since the last moment is over', () => {
    const { isStale, extend, time, forward } = open()
    extend({ ...time }, 1_000)
    forward(999)
    expect(isStale()).toBe(false)
    forward(1)
    expect(isStale()).toBe(true)
    extend({ ...time }, 1_000)
    expect(isStale()).toBe(false)
  })

  it('is stale after its machine was suspended, and is not prolonged by a clock that was set back', () => {
    const { isStale, extend, time, forward } = open()
    extend({ ...time }, 1_000)
    time.systemMs += HOUR_MS
    expect(isStale()).toBe(true)
    time.systemMs -= 2 * HOUR_MS
    expect(isStale()).toBe(false)
    forward(1_000)
    expect(isStale()).toBe(true)
  })

  it('is not prolonged by an earlier moment', () => {
    const { isStale, extend, time, forward } = open()
    const before = { ...time }
    forward(500)
    extend({ ...time }, 1_000)
    extend(before, 1_000)
    forward(600)
    expect(isStale()).toBe(true)
  })

  it('is judged alike by a thread that started much later', async () => {
    const memory = createFreshnessMemory()
    const url = new URL('../../../../src/foundation/runtime/freshness.ts', import.meta.url).href
    const code = `
      import { parentPort, workerData } from 'node:worker_threads'
      const { openFreshness } = await import(${JSON.stringify(url)})
      const { isStale } = openFreshness(workerData)
      parentPort.on('message', () => parentPort.postMessage(isStale()))`
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData: memory })
    const ask = (): Promise<unknown> => {
      const { promise, resolve } = Promise.withResolvers<unknown>()
      worker.once('message', resolve)
      worker.postMessage(null)
      return promise
    }
    try {
      const { extend } = openFreshness(memory)
      expect(await ask()).toBe(true)
      extend(readMoment(), HOUR_MS)
      expect(await ask()).toBe(false)
      new Float64Array(memory).fill(0)
      const past = readMoment()
      extend({ monotonicMs: past.monotonicMs - 1_000, systemMs: past.systemMs + HOUR_MS }, 900)
      expect(await ask()).toBe(true)
    } finally {
      await worker.terminate()
    }
  })
})
