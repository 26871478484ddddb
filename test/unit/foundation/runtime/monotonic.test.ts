import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { createMonotonicClock } from '../../../../src/foundation/runtime/monotonic.ts'

/** Reads the clock after each value that another thread writes, and writes its own reading for it. */
const READER = `
  const { parentPort, workerData } = require('node:worker_threads')
  import(workerData.clock).then(({ createMonotonicClock }) => {
    const now = createMonotonicClock()
    const turn = new Int32Array(workerData.turn)
    const times = []
    parentPort.postMessage('ready')
    for (let round = 1; round <= workerData.rounds; round++) {
      Atomics.wait(turn, 0, 2 * round - 2)
      times.push(now())
      Atomics.store(turn, 0, 2 * round)
      Atomics.notify(turn, 0)
    }
    parentPort.postMessage(times)
  })
`
const ROUNDS = 100

it('reads the same time on threads that began at different times', async () => {
  const now = createMonotonicClock()
  for (let thread = 0; thread < 3; thread++) {
    const turn = new Int32Array(new SharedArrayBuffer(4))
    const clock = new URL('../../../../src/foundation/runtime/monotonic.ts', import.meta.url).href
    const worker = new Worker(READER, { eval: true, workerData: { clock, turn: turn.buffer, rounds: ROUNDS } })
    await once(worker, 'message')
    const answered = once(worker, 'message')
    const bounds: (readonly [number, number])[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      const beforeMs = now()
      Atomics.store(turn, 0, 2 * round - 1)
      Atomics.notify(turn, 0)
      while (Atomics.load(turn, 0) < 2 * round) Atomics.wait(turn, 0, 2 * round - 1, 1_000)
      bounds.push([beforeMs, now()])
    }
    const [times] = (await answered) as [readonly number[]]
    await worker.terminate()
    const wrongMs = times.map((timeMs, index) => Math.max(bounds[index]![0] - timeMs, timeMs - bounds[index]![1], 0))
    expect(times).toHaveLength(ROUNDS)
    expect(Math.max(...wrongMs)).toBeLessThan(2)
  }
})

it('never goes back', () => {
  const now = createMonotonicClock()
  const times = Array.from({ length: 10_000 }, now)
  expect(times.every((timeMs, index) => index === 0 || timeMs >= times[index - 1]!)).toBe(true)
})
