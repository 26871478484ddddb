import { describe, expect, it } from 'vitest'
import { createStalenessWatch } from '../../../../src/storage/nodes/staleness-watch.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

function open(maxStalenessMs: number) {
  const clock = createFakeClock(1_000_000)
  const read = () => ({ monotonicMs: clock.nowMs(), systemMs: clock.nowMs() })
  const lines: string[] = []
  const note = (line: unknown): void => void lines.push(String(line))
  const log = { error: note, info: note }
  const count = (reason: string): void => void lines.push(reason)
  const watch = createStalenessWatch({ maxStalenessMs, clock, log, count, read })
  return { ...watch, clock, read, lines }
}

describe('a node with MAX_STALENESS_SECONDS', () => {
  it.each([
    [5_000, 4_500],
    [60_000, 58_800],
  ])('serves for %d ms less a margin', async (maxStalenessMs, servedMs) => {
    const { isStale, onFresh, clock, read } = open(maxStalenessMs)
    expect(isStale()).toBe(true)
    onFresh(read())
    await clock.advance(servedMs - 1)
    expect(isStale()).toBe(false)
    await clock.advance(1)
    expect(isStale()).toBe(true)
  })

  it('reports once that it is stale, once that it is not, and nothing while it starts', async () => {
    const { watch, onFresh, clock, read, lines } = open(5_000)
    const stop = watch()
    await clock.advance(60_000)
    expect(lines).toEqual([])
    onFresh(read())
    await clock.advance(60_000)
    const lost = 'this node has lost PostgreSQL for MAX_STALENESS_SECONDS; calls get 503 until it is read again'
    expect(lines).toEqual(['node_stale', lost])
    onFresh(read())
    await clock.advance(1_000)
    expect(lines.slice(2)).toEqual(['PostgreSQL is read again; calls are served'])
    stop()
    expect(clock.pending).toBe(0)
  })
})
