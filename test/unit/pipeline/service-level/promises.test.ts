import { describe, expect, it } from 'vitest'
import { NOTHING_MEASURED, type ServiceMeasure } from '../../../../src/foundation/domain/service-level.ts'
import { bucketOf } from '../../../../src/foundation/domain/latency-buckets.ts'
import { parseDeclaration } from '../../../../src/documents/opensla/declaration.ts'
import { evaluate, loadsOf, promisesOf, type ServicePromise } from '../../../../src/pipeline/service-level/promises.ts'

function runtime(text: string) {
  const bytes = new TextEncoder().encode(`opensla: 1.0.0\n${text}`)
  return parseDeclaration(bytes, { technicalName: 'a-v1', operationIds: ['read'] }).runtime[0]!
}

const measure = (of: Partial<ServiceMeasure>): ServiceMeasure => ({ ...NOTHING_MEASURED, ...of })
const short = ({ measure: what, promised, percentile, rps, load }: ServicePromise) => [
  what,
  promised,
  percentile,
  rps,
  load,
]

describe('promises', () => {
  it('are the numbers of a runtime; each latency applies up to a load', () => {
    const plan = runtime(`runtime:
  - availability: 99.5
    5xxResponsePercent: 1
    concurrency: 40
    throughput:
      - { rps: 100, latency: [{ percentile: 99, maximum: 900 }] }
      - { rps: 10, latency: [{ percentile: 99, maximum: 500, mean: 80 }] }
      - { latency: [{ percentile: 50, maximum: 5000 }] }`)

    expect(loadsOf(plan)).toEqual([10, 100])
    expect(promisesOf(plan).map(short)).toEqual([
      ['availability', 99.5, null, null, null],
      ['5xxResponsePercent', 1, null, null, null],
      ['latency', 900, 99, 100, 1],
      ['latency', 500, 99, 10, 0],
      ['meanLatency', 80, null, 10, 0],
      ['latency', 5_000, 50, null, 2],
    ])
  })

  it.each([
    ['availability: 99', 'availability', { calls: 100, unanswered: 1 }, 99, true],
    ['availability: 99', 'availability', { calls: 100, unanswered: 2 }, 98, false],
    ['5xxResponsePercent: 1', '5xxResponsePercent', { calls: 110, unanswered: 10, errors: 1 }, 1, true],
    ['5xxResponsePercent: 1', '5xxResponsePercent', { calls: 110, unanswered: 10, errors: 2 }, 2, false],
    ['5xxResponsePercent: 0', '5xxResponsePercent', { calls: 5, errors: 0 }, 0, true],
  ])('of %s are kept at exactly the promised value', (text, what, counts, measured, isKept) => {
    const [promise] = promisesOf(runtime(`runtime: [{ ${text} }]`))

    expect(promise?.measure).toBe(what)
    expect(evaluate(promise!, measure(counts))).toEqual({ measured, isKept })
  })

  it('of latency are evaluated over successful calls only', () => {
    const plan = runtime('guarantees: { latency: { p50: 10ms, p100: 10ms } }'.replace('p100', 'p99'))
    const latency = new Map([
      [bucketOf(9_000), 60],
      [bucketOf(20_000), 40],
    ])
    const of = measure({ calls: 200, errors: 100, successes: 100, latencyUs: 1_340_000, latency })
    const judged = promisesOf(plan).map((promise) => evaluate(promise, of))

    expect(judged.map(({ isKept }) => isKept)).toEqual([true, false])
  })

  it('are neither kept nor broken if nothing was measured', () => {
    const plan = runtime(
      'runtime: [{ availability: 99, 5xxResponsePercent: 1, throughput: [{ latency: [{ percentile: 9, maximum: 1, mean: 1 }] }] }]',
    )

    expect(promisesOf(plan).map((promise) => evaluate(promise, NOTHING_MEASURED))).toEqual(
      Array.from({ length: 4 }, () => ({ measured: null, isKept: null })),
    )
    expect(evaluate(promisesOf(plan)[1]!, measure({ calls: 3, unanswered: 3 })).isKept).toBeNull()
  })
})
