/** Every type of risk at, just below and just above each threshold, for rising and falling counts. */

import { describe, expect, it } from 'vitest'
import { DEFAULT_RISK_RULES } from '../../../../src/pipeline/risk/risk-rules.ts'
import { RISK_TYPES, type RiskEvent, type RiskType } from '../../../../src/foundation/domain/risk.ts'
import type { Outcome } from '../../../../src/foundation/domain/outcome.ts'
import {
  FLAG_APPROACHING_LIMIT,
  FLAG_FORWARDED,
  FLAG_PAST_RETIREMENT,
  type CallRecord,
} from '../../../../src/storage/spool/call-record.ts'
import { createRandom } from '../../../random.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { openTestDetector } from '../../../fixtures/test-risk-detector.ts'

const SECOND_MS = 1_000
/** A detector that returns each event as its phase and severity. */
function openDetector() {
  const { detector, add, evaluate } = openTestDetector()
  const changesOf = (events: readonly RiskEvent[]) => events.map(({ phase, severity }) => `${phase} ${severity}`)
  return {
    detector,
    add: (records: readonly CallRecord[]) => changesOf(add(records)),
    evaluate: (atMs: number) => changesOf(evaluate(atMs)),
  }
}

/** Builds a record that raises the type of risk at a given time. */
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
  LimitsUnavailable: (atMs) => call(attribution(), atMs, 'limits_not_shared'),
  CertificateExpiring: (atMs) => call(attribution(), atMs, 'certificate_expiring'),
  CanaryFailing: (atMs) => call(attribution(), atMs, 'canary_failing'),
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
  ])('with %i events within a second is %s', (count, severity) => {
    const { add, detector } = openDetector()
    add(spread(count, 900))

    expect([...detector.openEpisodes].map((episode) => episode.severity)).toEqual([severity])
  })

  it('counts the events of the last sixty seconds only', () => {
    const inside = openDetector()
    inside.add(spread(critical - 1, 100))
    expect(inside.add([event(START_MS + 59 * SECOND_MS)])).toContain('escalated Critical')
    const outside = openDetector()
    outside.add(spread(critical - 1, 100))
    expect(outside.add([event(START_MS + 60 * SECOND_MS)])).not.toContain('escalated Critical')
  })

  it('de-escalates one step per ten seconds once the window is empty, and clears after five quiet minutes', () => {
    const { add, evaluate } = openDetector()
    expect(add(spread(critical, 100))).toEqual(['opened Critical'])
    expect(evaluate(START_MS + 59_999)).toEqual([])
    expect(evaluate(START_MS + 60_000)).toEqual(['deescalated Warning'])
    expect(evaluate(START_MS + 69_999)).toEqual([])
    expect(evaluate(START_MS + 70_000)).toEqual(['deescalated Info'])
    expect(evaluate(START_MS + 300_000)).toEqual([])
    expect(evaluate(START_MS + 300_100)).toEqual(['cleared Info'])
  })

  it('keeps its severity while one event leaves the window and one enters', () => {
    const { add, evaluate } = openDetector()
    add(Array.from({ length: critical }, (_, index) => event(START_MS + index * SECOND_MS)))
    const events: string[] = []
    for (let second = critical; second < critical + 20; second++) {
      events.push(...add([event(START_MS + second * SECOND_MS)]), ...evaluate(START_MS + second * SECOND_MS))
    }

    expect(events.filter((phase) => !phase.startsWith('updated'))).toEqual([])
  })
})

describe.each([
  ['ProtectionViolation', 'Critical'],
  ['ApproachingLimit', 'Warning'],
  ['RetirementBlocked', 'Warning'],
  ['SelfApprovalAttempt', 'Critical'],
  ['RecordsDamaged', 'Critical'],
  ['DeprecatedVersionInUse', 'Warning'],
  ['CanaryFailing', 'Warning'],
] as const)('%s', (type, severity) => {
  it(`is ${severity} from the first event until it clears`, () => {
    const { add, evaluate } = openDetector()

    expect(add([EVENTS[type](START_MS)])).toEqual([`opened ${severity}`])
    expect(add(Array.from({ length: 99 }, () => EVENTS[type](START_MS + 1)))).toEqual([])
    expect(evaluate(START_MS + 10_000)).toEqual([`updated ${severity}`])
    expect(evaluate(START_MS + 300_000)).toEqual([])
    expect(evaluate(START_MS + 300_001)).toEqual([`cleared ${severity}`])
  })
})

it('covers every risk type, and the rules cover every category', () => {
  expect(Object.keys(EVENTS).sort()).toEqual([...RISK_TYPES].sort())
  const categories = new Set(RISK_TYPES.map((type) => DEFAULT_RISK_RULES[type].category))
  expect([...categories].sort()).toEqual(['Compliance', 'Design', 'Governance', 'Performance', 'Security'])
})

describe('The risk detector under load', () => {
  it('keeps a thousand parties with one 403 each at Info', () => {
    const { add, detector } = openDetector()
    const events = add(
      Array.from({ length: 1_000 }, (_, index) =>
        call(attribution({ consumer: `con_${index}` }), START_MS + index, 'operation_forbidden'),
      ),
    )

    expect(events).toEqual(Array<string>(1_000).fill('opened Info'))
    expect([...detector.openEpisodes].every(({ severity }) => severity === 'Info')).toBe(true)
  })

  it('emits two events for fifteen seconds of twenty thousand refused calls a second, and is Critical from the tenth call', () => {
    const { add } = openDetector()
    const by = attribution()
    const events: string[] = []
    for (let batch = 0; batch < 300; batch++) {
      const fromMs = START_MS + batch * 50
      events.push(
        ...add(Array.from({ length: 1_000 }, (_, index) => call(by, fromMs + index / 20, 'credential_invalid'))),
      )
    }
    // Fifteen seconds: the episode opens, and one update follows after ten.
    expect(events).toEqual(['opened Critical', 'updated Critical'])
    const slow = openDetector()
    const one = (index: number) => slow.add([call(attribution(), START_MS + index * 5_000, 'credential_invalid')])
    expect(Array.from({ length: 10 }, (_, index) => one(index)).at(-1)).toEqual(['escalated Critical'])
  })
})

it('keeps events and open episodes of tenants separate and consistent with each other, over random calls', () => {
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
    const { detector, add, evaluate } = openTestDetector()
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
      const events = [...add(calls)]
      if (random.below(3) === 0) {
        events.push(...evaluate(START_MS + round * 20_000 + 15_000))
      }
      for (const { riskId, tenant, severity, phase, attributedTo, evidence } of events) {
        // The consumer id contains the tenant, so an event that reaches another tenant is recognised.
        if (attributedTo.kind === 'consumer') expect(attributedTo.id, `seed ${seed}`).toContain(tenant)
        expect(evidence.total).toBeGreaterThan(0)
        last.set(riskId, { tenant, severity, state: phase === 'cleared' ? 'cleared' : 'open' })
      }
    }
    const open = [...detector.openEpisodes].map((episode) => ({
      riskId: episode.riskId,
      tenant: episode.key.tenant,
      severity: episode.severity as string,
      state: 'open',
    }))
    expect(open, `seed ${seed}`).toEqual(
      expect.arrayContaining(
        [...last].filter(([, { state }]) => state === 'open').map(([riskId, expected]) => ({ riskId, ...expected })),
      ),
    )
    expect(open.length, `seed ${seed}`).toBe([...last.values()].filter(({ state }) => state === 'open').length)
  }
})
