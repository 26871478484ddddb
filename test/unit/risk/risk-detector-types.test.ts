/** Every type of risk at its thresholds, by hand: at, just under and just over each, up and down. */

import { describe, expect, it } from 'vitest'
import { DEFAULT_RISK_RULES } from '../../../src/risk/risk-rules.ts'
import { RISK_TYPES, type RiskType } from '../../../src/domain/risk.ts'
import { RiskDetector } from '../../../src/risk/risk-detector.ts'
import type { Outcome } from '../../../src/domain/outcome.ts'
import {
  FLAG_APPROACHING_LIMIT,
  FLAG_FORWARDED,
  FLAG_PAST_RETIREMENT,
  type CallRecord,
} from '../../../src/record/call-record.ts'
import { createRandom } from '../../random.ts'
import { attribution, call, START_MS } from '../../fixtures/calls.ts'
import { createMemorySpool } from '../../fixtures/memory-spool.ts'

const SECOND_MS = 1_000
let spoolKeys = 5_000_000

function watch() {
  let ids = 0
  const newId = (prefix: string) => `${prefix}_${String(ids++).padStart(9, '0')}`
  const detector = new RiskDetector({
    rules: DEFAULT_RISK_RULES,
    newRiskId: () => newId('rsk'),
    newEventId: () => newId('evt'),
    count: () => {},
    saved: [],
  })
  const spool = createMemorySpool((spoolKeys += 10_000))
  let position = {}
  const told = () => detector.take().events.map(({ phase, severity }) => `${phase} ${severity}`)
  return {
    detector,
    told,
    see(records: readonly CallRecord[]) {
      spool.append('one', records)
      position = spool.read(position, (batch) => detector.add(batch))
      return told()
    },
    calm(atMs: number) {
      detector.evaluateAll(atMs)
      return told()
    },
  }
}

/** An event of a type at a time; grave where the type has such. */
const EVENTS: Readonly<Record<RiskType, (atMs: number) => CallRecord>> = {
  ProtectionViolation: (atMs) => call(attribution(), atMs, 'payload_invalid'),
  AuthFailure401: (atMs) => call(attribution(), atMs, 'credential_invalid'),
  AuthFailure403: (atMs) => call(attribution(), atMs, 'operation_forbidden'),
  ApproachingLimit: (atMs) => call(attribution(), atMs, 'served', { flags: FLAG_FORWARDED | FLAG_APPROACHING_LIMIT }),
  RateLimitBreach: (atMs) => call(attribution(), atMs, 'rate_limited'),
  RetirementBlocked: (atMs) => call(attribution(), atMs, 'retirement_blocked'),
  SelfApprovalAttempt: (atMs) => call(attribution(), atMs, 'self_approval'),
  ServiceLevelBreach: (atMs) => call(attribution(), atMs, 'served'),
  DesignDrift: (atMs) => call(attribution(), atMs, 'undeclared_body'),
  ComplianceScoreLow: (atMs) => call(attribution(), atMs, 'score_low'),
  DeprecatedVersionInUse: (atMs) =>
    call(attribution(), atMs, 'served', { flags: FLAG_FORWARDED | FLAG_PAST_RETIREMENT }),
  SpoolPressure: (atMs) => call(attribution(), atMs, 'spool_high'),
  RecordsDamaged: (atMs) => call(attribution(), atMs, 'records_damaged'),
}

describe.each([
  ['AuthFailure401', 3, 10],
  ['AuthFailure403', 3, 10],
  ['RateLimitBreach', 10, 50],
] as const)('%s', (type, warning, critical) => {
  const event = EVENTS[type]
  const spread = (count: number, spanMs: number, fromMs = START_MS) =>
    Array.from({ length: count }, (_, index) => event(fromMs + Math.floor((index * spanMs) / count)))

  it.each([
    [warning - 1, 'Info'],
    [warning, 'Warning'],
    [warning + 1, 'Warning'],
    [critical - 1, 'Warning'],
    [critical, 'Critical'],
    [critical + 1, 'Critical'],
  ])('%i within a second make it %s', (count, severity) => {
    const { see, detector } = watch()
    see(spread(count, 900))

    expect([...detector.open].map((episode) => episode.severity)).toEqual([severity])
  })

  it('counts events of less than sixty seconds, and no older ones', () => {
    const inside = watch()
    inside.see(spread(critical - 1, 100))
    expect(inside.see([event(START_MS + 59 * SECOND_MS)])).toContain('escalated Critical')
    const outside = watch()
    outside.see(spread(critical - 1, 100))
    expect(outside.see([event(START_MS + 60 * SECOND_MS)])).not.toContain('escalated Critical')
  })

  it('de-escalates one step per ten seconds once the window is empty, and clears after five quiet minutes', () => {
    const { see, calm } = watch()
    expect(see(spread(critical, 100))).toEqual(['opened Critical'])
    expect(calm(START_MS + 59_999)).toEqual([])
    expect(calm(START_MS + 60_000)).toEqual(['deescalated Warning'])
    expect(calm(START_MS + 69_999)).toEqual([])
    expect(calm(START_MS + 70_000)).toEqual(['deescalated Info'])
    expect(calm(START_MS + 300_000)).toEqual([])
    expect(calm(START_MS + 300_100)).toEqual(['cleared Info'])
  })

  it('keeps its severity while one event leaves the window and one enters', () => {
    const { see, calm } = watch()
    see(Array.from({ length: critical }, (_, index) => event(START_MS + index * SECOND_MS)))
    const told: string[] = []
    for (let second = critical; second < critical + 20; second++) {
      told.push(...see([event(START_MS + second * SECOND_MS)]), ...calm(START_MS + second * SECOND_MS))
    }

    expect(told.filter((phase) => !phase.startsWith('updated'))).toEqual([])
  })
})

describe.each([
  ['ProtectionViolation', 'Critical'],
  ['ApproachingLimit', 'Warning'],
  ['RetirementBlocked', 'Warning'],
  ['SelfApprovalAttempt', 'Critical'],
  ['RecordsDamaged', 'Critical'],
  ['DeprecatedVersionInUse', 'Warning'],
] as const)('%s', (type, severity) => {
  it(`is ${severity} from the first to the hundredth, and until it clears`, () => {
    const { see, calm } = watch()

    expect(see([EVENTS[type](START_MS)])).toEqual([`opened ${severity}`])
    expect(see(Array.from({ length: 99 }, () => EVENTS[type](START_MS + 1)))).toEqual([])
    expect(calm(START_MS + 10_000)).toEqual([`updated ${severity}`])
    expect(calm(START_MS + 300_000)).toEqual([])
    expect(calm(START_MS + 300_001)).toEqual([`cleared ${severity}`])
  })
})

it('covers an event, a rule and a category for every risk type', () => {
  expect(Object.keys(EVENTS).sort()).toEqual([...RISK_TYPES].sort())
  const categories = new Set(RISK_TYPES.map((type) => DEFAULT_RISK_RULES[type].category))
  expect([...categories].sort()).toEqual(['Compliance', 'Design', 'Governance', 'Performance', 'Security'])
})

describe('the risk detector under load', () => {
  it('keeps a thousand parties with one 403 each at Info', () => {
    const { see, detector } = watch()
    const told = see(
      Array.from({ length: 1_000 }, (_, index) =>
        call(attribution({ consumer: `con_${index}` }), START_MS + index, 'operation_forbidden'),
      ),
    )

    expect(told).toEqual(Array<string>(1_000).fill('opened Info'))
    expect([...detector.open].every(({ severity }) => severity === 'Info')).toBe(true)
  })

  it('emits a handful of events for twenty thousand refused calls a second from one party, Critical from the tenth call', () => {
    const { see } = watch()
    const told: string[] = []
    for (let batch = 0; batch < 300; batch++) {
      const fromMs = START_MS + batch * 50
      told.push(
        ...see(
          Array.from({ length: 1_000 }, (_, index) => call(attribution(), fromMs + index / 20, 'credential_invalid')),
        ),
      )
    }
    // Fifteen seconds of it: it opens, and is told of again after ten.
    expect(told).toEqual(['opened Critical', 'updated Critical'])
    const slow = watch()
    const one = (index: number) => slow.see([call(attribution(), START_MS + index * 5_000, 'credential_invalid')])
    expect(Array.from({ length: 10 }, (_, index) => one(index)).at(-1)).toEqual(['escalated Critical'])
  })
})

it('separates events and positions by tenant, and keeps both consistent, over random tenants and calls', () => {
  const OUTCOMES: readonly Outcome[] = [
    'served',
    'credential_invalid',
    'operation_forbidden',
    'rate_limited',
    'payload_invalid',
    'undeclared_status',
  ]
  for (let seed = 1; seed <= 20; seed++) {
    const random = createRandom(seed)
    const { detector } = watch()
    const spool = createMemorySpool((spoolKeys += 10_000))
    let position = {}
    const last = new Map<string, { tenant: string; severity: string; state: string }>()
    for (let round = 0; round < 30; round++) {
      const calls = Array.from({ length: 1 + random.below(60) }, () => {
        const tenant = `tenant-${random.below(4)}`
        const by = attribution({
          tenant,
          api: `api-${random.below(3)}-v1`,
          consumer: `con_${tenant}_${random.below(5)}`,
        })
        return call(by, START_MS + round * 20_000 + random.below(15_000), OUTCOMES[random.below(OUTCOMES.length)])
      })
      spool.append('one', calls)
      position = spool.read(position, (batch) => detector.add(batch))
      if (random.below(3) === 0) detector.evaluateAll(START_MS + round * 20_000 + 15_000)
      for (const { riskId, tenant, severity, phase, attributedTo, evidence } of detector.take().events) {
        // A consumer carries the tenant in its id: nothing of one is told to another.
        if (attributedTo.kind === 'consumer') expect(attributedTo.id, `seed ${seed}`).toContain(tenant)
        expect(evidence.total).toBeGreaterThan(0)
        last.set(riskId, { tenant, severity, state: phase === 'cleared' ? 'cleared' : 'open' })
      }
    }
    const open = [...detector.open].map((episode) => ({
      riskId: episode.riskId,
      tenant: episode.key.tenant,
      severity: episode.severity as string,
      state: 'open',
    }))
    expect(open, `seed ${seed}`).toEqual(
      expect.arrayContaining(
        [...last].filter(([, { state }]) => state === 'open').map(([riskId, told]) => ({ riskId, ...told })),
      ),
    )
    expect(open.length, `seed ${seed}`).toBe([...last.values()].filter(({ state }) => state === 'open').length)
  }
})
