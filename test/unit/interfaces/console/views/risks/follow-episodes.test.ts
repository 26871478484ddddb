import { describe, expect, it, vi } from 'vitest'
import { CallRefused } from '../../../../../../src/interfaces/console/api/client.ts'
import type { StreamHandlers } from '../../../../../../src/interfaces/console/api/stream.ts'
import { followEpisodes } from '../../../../../../src/interfaces/console/views/risks/follow-episodes.ts'
import { LiveModel, type Found } from '../../../../../../src/interfaces/console/views/risks/live-model.ts'
import { showRisk } from '../../../../../../src/interfaces/platform/risk-shape.ts'
import { riskEvent } from '../../../../../fixtures/risk-event.ts'

const risk = (riskId: string, total = 1) => {
  const shown = showRisk(riskEvent({ riskId }))
  return { ...shown, evidence: { ...shown.evidence, total } }
}
const listOf = (...items: Found['items']): Found => ({ items, isComplete: true })

function follow() {
  const model = new LiveModel()
  const reads: PromiseWithResolvers<Found>[] = []
  const statuses: (number | null)[] = []
  let stream: StreamHandlers | null = null
  const close = followEpisodes({
    model,
    open(handlers) {
      stream = handlers
      return () => {}
    },
    readOpen() {
      const reading = Promise.withResolvers<Found>()
      reads.push(reading)
      return reading.promise
    },
    onChange: () => {},
    onState: () => {},
    onProblem: (problem) => void statuses.push(problem?.status ?? null),
  })
  return {
    reads,
    statuses,
    close,
    opened: () => stream!.onState(null),
    failed: () => stream!.onState(new Date()),
    sent: (...risks: Found['items']) =>
      stream!.onEvents(risks.map((each) => ({ id: '1', data: JSON.stringify(each) }))),
    async answer(index: number, found: Found): Promise<void> {
      reads[index]!.resolve(found)
      await reads[index]!.promise
    },
    async refuse(index: number, status: number): Promise<void> {
      reads[index]!.reject(new CallRefused({ status, code: 'c', detail: 'd', requestId: 'r' }))
      await reads[index]!.promise.catch(() => {})
    },
    totals: () => Object.fromEntries(model.all().rows!.map(({ riskId, evidence }) => [riskId, evidence.total])),
  }
}

describe('The followed episodes', () => {
  it('are read once the stream is open, so that no event between the list and the stream is missed', async () => {
    const episodes = follow()
    expect(episodes.reads).toHaveLength(0)
    episodes.opened()
    expect(episodes.reads).toHaveLength(1)
    episodes.sent(risk('a', 2), risk('b'))
    await episodes.answer(0, listOf(risk('a')))
    expect(episodes.totals()).toEqual({ a: 2, b: 1 })
  })

  it('are read again when the stream opens again, also if it ended as planned', async () => {
    const episodes = follow()
    episodes.opened()
    await episodes.answer(0, listOf(risk('a')))
    episodes.opened()
    await episodes.answer(1, listOf(risk('a', 7)))
    expect(episodes.totals()).toEqual({ a: 7 })
  })

  it('are read without a stream that cannot be opened, once', () => {
    const episodes = follow()
    episodes.failed()
    episodes.failed()
    expect(episodes.reads).toHaveLength(1)
  })

  it('are read without a stream that does not open in a second', async () => {
    vi.useFakeTimers()
    try {
      const episodes = follow()
      await vi.advanceTimersByTimeAsync(999)
      expect(episodes.reads).toHaveLength(0)
      await vi.advanceTimersByTimeAsync(1)
      expect(episodes.reads).toHaveLength(1)
      await episodes.answer(0, listOf(risk('a')))
      episodes.opened()
      await vi.advanceTimersByTimeAsync(10_000)
      expect(episodes.reads).toHaveLength(2)
      episodes.close()
    } finally {
      vi.useRealTimers()
    }
  })

  it('ignore a list that was asked for before the latest one', async () => {
    const episodes = follow()
    episodes.failed()
    episodes.opened()
    episodes.sent(risk('a', 3))
    await episodes.answer(1, listOf(risk('a', 2)))
    await episodes.answer(0, listOf(risk('a', 1), risk('gone')))
    expect(episodes.totals()).toEqual({ a: 3 })
  })

  it('are read again after a refusal, unless they may not be read', async () => {
    vi.useFakeTimers()
    try {
      const episodes = follow()
      episodes.opened()
      await episodes.refuse(0, 503)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(episodes.reads).toHaveLength(2)
      await episodes.refuse(1, 403)
      await vi.advanceTimersByTimeAsync(10_000)
      expect([episodes.reads.length, episodes.statuses]).toEqual([2, [503, 403]])
    } finally {
      vi.useRealTimers()
    }
  })

  it('change no more after the end', async () => {
    const episodes = follow()
    episodes.opened()
    episodes.close()
    await episodes.answer(0, listOf(risk('a')))
    expect(episodes.totals()).toEqual({})
  })
})
