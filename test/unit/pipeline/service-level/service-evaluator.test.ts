import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseDeclaration } from '../../../../src/documents/opensla/declaration.ts'
import type { RuntimePlan } from '../../../../src/boundary/plan/sla-plan.ts'
import { createServiceEvaluator, type PromiseSource } from '../../../../src/pipeline/service-level/service-evaluator.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import { createRandom } from '../../../random.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'
import { createTestStream } from '../../../fixtures/test-stream.ts'

const MINUTE_MS = 60_000
const DECLARED = `
runtime:
  - name: all
    availability: 99
    5xxResponsePercent: 2
    throughput:
      - { rps: 1, latency: [{ percentile: 90, maximum: 100, mean: 50 }] }
      - { rps: 10, latency: [{ percentile: 90, maximum: 400 }] }
  - name: night
    operationIds: [other]
    availability: 100
    validity: [{ name: n, start: 22:00, end: 06:00 }]`

function promised(text: string): PromiseSource {
  const bytes = new TextEncoder().encode(`opensla: 1.0.0\n${text}`)
  const { runtime } = parseDeclaration(bytes, { technicalName: 'a', operationIds: ['createPayment', 'other'] })
  return { isAny: runtime.length > 0, of: (api): readonly RuntimePlan[] => (api === 'payments-v1' ? runtime : []) }
}

interface Minute {
  readonly calls?: number
  readonly failed?: number
  readonly unanswered?: number
  readonly ms?: number
  readonly api?: string
  readonly operation?: string
  readonly hour?: number
  /** The calls alternate between so many revisions. */
  readonly revisions?: number
}

/** The calls of one minute. */
function minute(index: number, of: Minute = {}): CallRecord[] {
  const {
    calls = 30,
    failed = 0,
    unanswered = 0,
    ms = 20,
    api = 'payments-v1',
    operation = 'createPayment',
    hour = 12,
    revisions = 0,
  } = of
  const parties = Array.from({ length: Math.max(1, revisions) }, (_, index) =>
    attribution({ api, operation, ...(revisions > 0 && { revision: index + 1 }) }),
  )
  const startMs = START_MS + hour * 60 * MINUTE_MS + index * MINUTE_MS
  return Array.from({ length: calls }, (_, at) => {
    const timeMs = startMs + Math.floor((at * MINUTE_MS) / calls)
    const by = parties[at % parties.length]!
    if (at < unanswered) return call(by, timeMs, 'upstream_timeout', { status: 504, flags: 1 })
    return call(by, timeMs, 'served', { status: at < unanswered + failed ? 503 : 200, upstreamUs: ms * 1_000 })
  })
}

/** Returns the broken promises of each minute. */
function evaluated(minutes: readonly Minute[], text = DECLARED): string[] {
  const spool = createMemorySpool()
  const counted: string[] = []
  const evaluator = createServiceEvaluator({
    promises: promised(text),
    saved: null,
    count: (reason) => counted.push(reason),
  })
  const breaches: string[] = []
  minutes.forEach((of, index) => {
    const from = spool.read({}, () => {})
    evaluator.reading(from)
    spool.append('one', minute(index, of))
    spool.read(from, evaluator.add)
    breaches.push(
      ...evaluator.close().map(({ measure, isGrave }) => `${index - 1} ${measure}${isGrave ? ' grave' : ''}`),
    )
  })
  const end = START_MS + ((minutes.at(-1)?.hour ?? 12) * 60 + minutes.length) * MINUTE_MS
  const last = evaluator.close(end + 5_000)
  return [
    ...breaches,
    ...last.map(({ measure, isGrave }) => `${minutes.length - 1} ${measure}${isGrave ? ' grave' : ''}`),
  ]
}

describe('a provider', () => {
  it.each<[string, Minute, readonly string[]]>([
    ['keeps all promises', {}, []],
    ['keeps availability at exactly the promised percentage', { calls: 100, unanswered: 1 }, []],
    ['breaks availability', { calls: 200, unanswered: 3 }, ['0 availability']],
    ['breaks availability gravely', { calls: 100, unanswered: 2 }, ['0 availability grave']],
    ['keeps the percentage of errors at exactly the promised one', { calls: 100, failed: 2 }, []],
    ['breaks the percentage of errors', { calls: 100, failed: 3 }, ['0 5xxResponsePercent']],
    ['breaks the percentage of errors gravely', { calls: 100, failed: 4 }, ['0 5xxResponsePercent grave']],
    ['breaks the mean and the percentile of latency', { ms: 150 }, ['0 latency', '0 meanLatency grave']],
    ['breaks both promises of latency gravely', { ms: 250 }, ['0 latency grave', '0 meanLatency grave']],
    ['has a higher promised latency under more load', { calls: 120, ms: 300 }, []],
    ['breaks the higher promised latency', { calls: 120, ms: 500 }, ['0 latency']],
    ['breaks no promise of latency above all promised loads', { calls: 700, ms: 5_000 }, []],
    ['is not evaluated by 19 calls', { calls: 19, unanswered: 19 }, []],
    ['is evaluated by 20 calls', { calls: 20, unanswered: 20 }, ['0 availability grave']],
    ['breaks no promise at an API without promises', { api: 'other-v1', unanswered: 30 }, []],
    ['breaks no promise of the night by day', { operation: 'other', calls: 200, unanswered: 1 }, []],
    [
      'breaks a promise of the night at night',
      { operation: 'other', calls: 200, unanswered: 1, hour: 23 },
      ['0 availability'],
    ],
  ])('%s', (_, of, expected) => {
    expect(evaluated([of])).toEqual(expected)
  })

  it('adds up the revisions of an API, none of which has enough calls to be significant', () => {
    for (const of of [{ failed: 3 }, { unanswered: 1 }, { ms: 150 }, {}])
      expect(evaluated([{ ...of, revisions: 3 }]), JSON.stringify(of)).toEqual(evaluated([of]))
    expect(evaluated([{ failed: 3, revisions: 3 }])).not.toEqual([])
  })

  it('breaks a promise gravely from the fifth consecutive minute on', () => {
    const slow = { ms: 130, calls: 30 }
    const text = 'guarantees: { latency: { p95: 100ms } }'

    expect(evaluated([slow, slow, slow, slow, slow, slow], text)).toEqual([
      '0 latency',
      '1 latency',
      '2 latency',
      '3 latency',
      '4 latency grave',
      '5 latency grave',
    ])
    expect(evaluated([slow, slow, slow, slow, {}, slow], text)).not.toContain('5 latency grave')
    expect(evaluated([slow, slow, slow, slow, { api: 'other-v1' }, slow], text)).not.toContain('5 latency grave')
  })

  it('is not evaluated by calls that arrive after the evaluation of their minute', () => {
    const counted: string[] = []
    const spool = createMemorySpool()
    const evaluator = createServiceEvaluator({
      promises: promised(DECLARED),
      saved: null,
      count: (reason) => counted.push(reason),
    })
    spool.append('one', minute(0))
    const at = spool.read({}, evaluator.add)
    expect(evaluator.close(START_MS + 12 * 60 * MINUTE_MS + MINUTE_MS + 4_999)).toEqual([])
    evaluator.close(START_MS + 12 * 60 * MINUTE_MS + MINUTE_MS + 5_000)
    spool.append('one', minute(0, { unanswered: 30 }))
    spool.read(at, evaluator.add)

    expect(evaluator.close(START_MS + 13 * 60 * MINUTE_MS)).toEqual([])
    expect(counted).toEqual(Array<string>(30).fill('service_level_late'))
  })
})

describe('a breach of a promise', () => {
  /** Runs minutes of traffic, some of which break a promise; the process dies at the steps `dieAts`. Returns the episodes. */
  async function live(dieAts: readonly number[]) {
    const folder = mkdtempSync(join(tmpdir(), 'evaluator-'))
    const stream = await createTestStream(join(folder, 'stream.db'), START_MS + 12 * 60 * MINUTE_MS)
    onTestFinished(() => {
      stream.close()
      rmSync(folder, { recursive: true, force: true })
    })
    stream.promises = promised(DECLARED)
    const random = createRandom(7)
    const deaths = [...dieAts]
    await stream.start(deaths.shift())
    for (let index = 0; index < 7; index++) {
      const calls = minute(index, { unanswered: [0, 5, 0, 1, 9, 0, 3][index] ?? 0, ms: 20 + random.below(90) })
      for (const half of [calls.slice(0, 15), calls.slice(15)]) {
        if (stream.isDead) await stream.start(deaths.shift()).catch(() => {})
        stream.spool.append('gateway-0', half)
        if (random.below(2) === 0) stream.spool.roll('gateway-0')
        stream.spool.grow()
        await stream.clock.advance(30_000)
      }
    }
    await stream.start()
    await stream.clock.advance(70_000)
    await stream.pipeline.stop()
    const episodes = [
      ...stream.checkpoint.openEpisodes().map(({ event }) => event),
      ...stream.checkpoint.clearedEpisodes({ tenant: 'acme', state: 'cleared', limit: 100 }).map(({ event }) => event),
    ].filter(({ type }) => type === 'ServiceLevelBreach')
    const ids = stream.history.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    return {
      steps: stream.steps,
      reasons: episodes.map(({ evidence }) => evidence.reasons),
      severities: stream.history.filter(({ type }) => type === 'ServiceLevelBreach').map(({ severity }) => severity)[0],
      to: episodes.map(({ attributedTo }) => attributedTo.kind),
    }
  }

  it('is a risk of the provider', async () => {
    const { reasons, to, severities } = await live([])

    expect(to).toEqual(['provider'])
    expect(reasons).toEqual([{ availability: 4, meanLatency: 5 }])
    expect(severities).toBe('Critical')
  })

  it('is published once if the process crashes at any step, also repeatedly', { timeout: 120_000 }, async () => {
    const whole = await live([])
    for (let dieAt = 1; dieAt < 200; dieAt += 9) {
      expect((await live([dieAt])).reasons, `died at step ${dieAt}`).toEqual(whole.reasons)
    }
    const random = createRandom(3)
    for (let round = 0; round < 10; round++) {
      const deaths = Array.from({ length: 5 }, () => 1 + random.below(60))
      expect((await live(deaths)).reasons, `died at steps ${deaths.join(', ')}`).toEqual(whole.reasons)
    }
  })
})
