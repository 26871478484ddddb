/**
 * What the limits cost a call: five limits and a quota of one subscription, beside an operation that has
 * none. The target is that they add no more than a microsecond. And what the counters of a million
 * subscriptions take of shared memory: at most 200 bytes each.
 */

import { createLimiter, type CompiledSla } from '../../src/limits/limiter.ts'
import { createLimitMemory } from '../../src/limits/limit-memory.ts'
import { toLimitLines, toQuotaLines } from '../../src/limits/limit-headers.ts'
import { parseDeclaration } from '../../src/documents/opensla/declaration.ts'
import { measure } from '../harness.ts'

const TAKES = 100_000
const THREADS = 4
const SUBSCRIPTIONS = 1_000
const MANY = 1_000_000_000

const plan = parseDeclaration(
  new TextEncoder().encode(
    JSON.stringify({
      opensla: '1.0.0',
      limits: [
        {
          name: 'reading',
          operationIds: ['limited'],
          totals: { minute: MANY, day: MANY, month: MANY },
          rate: { value: 9_000_000, duration: 'minute' },
          concurrent: MANY,
        },
        {
          name: 'peak',
          operationIds: ['refused'],
          totals: { day: 1 },
          validity: [{ name: 'v', start: '00:00', end: '24:00' }],
        },
      ],
      quotas: { period: 'Monthly', resourceUnits: 999_999_999 },
      resourceUnits: { operations: { limited: 0.001 } },
    }),
  ),
  { technicalName: 'bench-v1', operationIds: ['limited', 'refused', 'free'] },
)
const bare = { ...plan, quota: null }

const limiter = createLimiter({ thread: 0, threads: THREADS })
const [sla, bareSla] = [plan, bare].map((each) => limiter.compile(each, ['limited', 'refused', 'free']))
const [blocks, bareBlocks] = [plan, bare].map((each) => {
  const memory = createLimitMemory({ threads: THREADS })
  return Array.from({ length: SUBSCRIPTIONS }, (_, subscription) => {
    const ref = memory.blockFor(`sub_${subscription}`, each)
    if (ref === null) throw new Error('there is no memory left')
    return limiter.open(ref)
  })
})
if (sla === undefined || bareSla === undefined || blocks === undefined || bareBlocks === undefined) {
  throw new Error('nothing to measure')
}

let nowMs = Date.parse('2026-03-04T12:00:00Z')

function takeAll(compiled: typeof sla, of: typeof blocks, operation: number, withHeaders = false): number {
  let sum = 0
  for (let call = 0; call < TAKES; call++) {
    const block = of?.[call % SUBSCRIPTIONS]
    if (compiled === undefined || block === undefined) continue
    if (call % 16 === 0) nowMs++
    sum += limiter.take(compiled, block, operation, nowMs)
    limiter.release(block, limiter.verdict.gauge)
    if (withHeaders) sum += linesOf(compiled, operation).length
  }
  return sum
}

function linesOf(compiled: CompiledSla, operation: number): string {
  const { verdict } = limiter
  return toLimitLines(compiled, operation, verdict) + toQuotaLines(compiled, verdict.quotaUsedMicro)
}

measure({ name: 'limiter/none', operations: TAKES, run: () => takeAll(bareSla, bareBlocks, 2) })
measure({ name: 'limiter/five-and-a-quota', operations: TAKES, run: () => takeAll(sla, blocks, 0) })
measure({ name: 'limiter/five-and-a-quota/headers', operations: TAKES, run: () => takeAll(sla, blocks, 0, true) })
measure({ name: 'limiter/refused', operations: TAKES, run: () => takeAll(sla, blocks, 1) })

const millions = createLimitMemory({ threads: THREADS })
for (let subscription = 0; subscription < 1_000_000; subscription++) millions.blockFor(`sub_${subscription}`, plan)
console.log(
  `limiter/memory: ${(millions.bytes / 1e6).toFixed(1)} bytes of shared memory a subscription, of a million, ${THREADS} threads`,
)
