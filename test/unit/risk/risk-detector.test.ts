import { describe, expect, it } from 'vitest'
import { DEFAULT_RISK_RULES } from '../../../src/risk/risk-rules.ts'
import type { RiskEvent } from '../../../src/domain/risk.ts'
import { RiskDetector, type RiskDetectorOptions } from '../../../src/risk/risk-detector.ts'
import type { Outcome } from '../../../src/domain/outcome.ts'
import {
  FLAG_APPROACHING_LIMIT,
  FLAG_FORWARDED,
  FLAG_PAST_RETIREMENT,
  type CallRecord,
} from '../../../src/record/call-record.ts'
import type { SavedEpisode } from '../../../src/store/risk-checkpoint.ts'
import { attribution, call, START_MS } from '../../fixtures/calls.ts'
import { createMemorySpool } from '../../fixtures/memory-spool.ts'

const MINUTE = 60_000
let spoolKeys = 0

function watch(options: Partial<RiskDetectorOptions> = {}) {
  const counted: string[] = []
  let ids = 0
  const newId = (prefix: string) => `${prefix}_${String(ids++).padStart(6, '0')}`
  const detector = new RiskDetector({
    rules: DEFAULT_RISK_RULES,
    newRiskId: () => newId('rsk'),
    newEventId: () => newId('evt'),
    count: (reason) => counted.push(reason),
    saved: [],
    ...options,
  })
  const spool = createMemorySpool((spoolKeys += 1_000))
  let position = {}
  const take = (): readonly RiskEvent[] => detector.take().events
  return {
    detector,
    counted,
    take,
    see(records: readonly CallRecord[]): readonly RiskEvent[] {
      spool.append('one', records)
      position = spool.read(position, (batch) => detector.add(batch))
      return take()
    },
    calm(nowMs: number): readonly RiskEvent[] {
      detector.evaluateAll(nowMs)
      return take()
    },
  }
}

const many = (count: number, outcome: Outcome, fromMs = START_MS, stepMs = 10) => {
  const by = attribution()
  return Array.from({ length: count }, (_, index) => call(by, fromMs + index * stepMs, outcome))
}
const phases = (events: readonly RiskEvent[]) =>
  events.map(({ phase, severity, count }) => `${phase} ${severity} ${count}`)

describe('risk detector', () => {
  it.each([
    ['retirement_blocked', 'RetirementBlocked', 'Governance', 'Warning'],
    ['self_approval', 'SelfApprovalAttempt', 'Governance', 'Critical'],
    ['credential_missing', 'AuthFailure401', 'Security', 'Info'],
    ['credential_invalid', 'AuthFailure401', 'Security', 'Info'],
    ['operation_forbidden', 'AuthFailure403', 'Security', 'Info'],
    ['subscription_required', 'AuthFailure403', 'Security', 'Info'],
    ['payload_invalid', 'ProtectionViolation', 'Security', 'Critical'],
    ['payload_too_large', 'ProtectionViolation', 'Security', 'Critical'],
    ['media_type_unsupported', 'ProtectionViolation', 'Security', 'Critical'],
    ['path_not_canonical', 'ProtectionViolation', 'Security', 'Critical'],
    ['rate_limited', 'RateLimitBreach', 'Performance', 'Info'],
    ['quota_exhausted', 'RateLimitBreach', 'Performance', 'Info'],
  ] as const)('takes %s for %s', (outcome, type, category, severity) => {
    expect(watch().see(many(1, outcome))).toMatchObject([{ type, category, severity, phase: 'opened' }])
  })

  it('says nothing of calls that are no risk', () => {
    const outcomes = [
      'served',
      'not_found',
      'method_not_allowed',
      'api_retired',
      'upstream_timeout',
      'unavailable',
      'client_aborted',
    ] as const
    const { see } = watch()

    expect(outcomes.flatMap((outcome) => see(many(20, outcome)))).toEqual([])
  })

  it('takes a path that is not canonical for a risk only where the caller is known', () => {
    const { see } = watch()
    const nobody = attribution({ consumer: '', consumerName: '' })

    expect(see([call(nobody, START_MS, 'path_not_canonical')])).toEqual([])
  })

  it('warns of a limit that comes near, before it tells of the breach', () => {
    const by = attribution()
    const near = call(by, START_MS, 'served', { flags: FLAG_FORWARDED | FLAG_APPROACHING_LIMIT })
    const both = call(by, START_MS, 'rate_limited', { flags: FLAG_APPROACHING_LIMIT })

    expect(watch().see([near])).toMatchObject([{ type: 'ApproachingLimit', severity: 'Warning' }])
    expect(
      watch()
        .see([both])
        .map(({ type }) => type),
    ).toEqual(['ApproachingLimit', 'RateLimitBreach'])
  })

  it('tells of an episode and not of a call: a flood is a handful of events', () => {
    const events = watch().see(many(100_000, 'rate_limited', START_MS, 0.5))

    expect(phases(events)[0]).toMatch(/^opened/)
    expect(events.filter(({ phase }) => phase === 'escalated').length).toBeLessThanOrEqual(2)
    expect(events.length).toBeLessThan(12)
    expect(events.at(-1)).toMatchObject({ severity: 'Critical' })
  })

  it('escalates with volume, calms down step by step and clears after five quiet minutes', () => {
    const { see, calm } = watch()
    const told = [...see(many(1, 'credential_invalid')), ...see(many(2, 'credential_invalid', START_MS + 1_500))]
    told.push(...see(many(7, 'credential_invalid', START_MS + 3_000)))
    const lastMs = START_MS + 3_060
    for (let second = 1; second <= 310; second++) told.push(...calm(lastMs + second * 1_000))

    expect(told.map(({ phase, severity }) => `${phase} ${severity}`)).toEqual([
      'opened Info',
      'escalated Warning',
      'escalated Critical',
      'deescalated Warning',
      'deescalated Info',
      'cleared Info',
    ])
    expect(told.at(-1)).toMatchObject({ count: 0, lastSeenMs: lastMs, firstSeenMs: START_MS })
    expect(new Set(told.map(({ riskId }) => riskId)).size).toBe(1)
  })

  it('counts what fell into the last minute and no more', () => {
    const { see } = watch()
    see(many(2, 'credential_invalid', START_MS))
    const [later] = see(many(2, 'credential_invalid', START_MS + MINUTE + 500))

    expect(later).toMatchObject({ phase: 'updated', severity: 'Info', count: 2, evidence: { total: 4 } })
  })

  it('updates an episode every ten seconds at most', () => {
    const { see } = watch()
    const told = Array.from({ length: 600 }, (_, index) => see(many(1, 'payload_invalid', START_MS + index * 100)))

    expect(told.flat().map(({ phase }) => phase)).toEqual(['opened', ...Array<string>(5).fill('updated')])
  })

  it('begins another episode after five quiet minutes, also where nobody was there to tell of the silence', () => {
    const { see } = watch()
    const first = many(1, 'payload_invalid', START_MS)
    const events = see([...first, ...many(1, 'payload_invalid', START_MS + 5 * MINUTE)])

    expect(events.map(({ phase }) => phase)).toEqual(['opened', 'cleared', 'opened'])
    expect(events[0]?.riskId).toBe(events[1]?.riskId)
    expect(events[2]?.riskId).not.toBe(events[0]?.riskId)
  })

  it('opens what was seen long ago before it clears it', () => {
    const { see, calm } = watch()
    see(many(1, 'payload_invalid', START_MS + 60 * MINUTE))
    const events = [
      ...see([call(attribution({ consumer: 'con_old' }), START_MS, 'payload_invalid')]),
      ...calm(START_MS + 61 * MINUTE),
    ]

    expect(events.map(({ phase, attributedTo }) => `${phase} ${attributedTo.id}`)).toEqual([
      'opened con_old',
      'cleared con_old',
    ])
  })

  it('tells a flood as one episode also after the clock was set back', () => {
    const { see, calm } = watch()
    see([call(attribution({ consumer: 'con_2' }), START_MS + 60 * MINUTE, 'payload_invalid')])
    const told = Array.from({ length: 50 }, (_, second) => [
      ...see(many(10, 'payload_invalid', START_MS + second * 1_000)),
      ...calm(START_MS + second * 1_000 + 500),
    ])

    expect(told.flat().map(({ phase }) => phase)).toEqual(['opened', 'updated', 'updated', 'updated', 'updated'])
  })

  it.each([
    [
      { consumer: 'con_1', consumerName: 'Shop' },
      { kind: 'consumer', id: 'con_1', name: 'Shop' },
    ],
    [
      { consumer: 'con_1', consumerName: 'Bot', agent: 'con_1' },
      { kind: 'agent', id: 'con_1', name: 'Bot' },
    ],
    [
      { consumer: 'con_1', consumerName: 'Shop', agent: 'agt_1', person: 'Ada' },
      { kind: 'agent', id: 'agt_1', name: 'agt_1', onBehalfOf: 'Ada' },
    ],
    [
      { consumer: '', consumerName: '' },
      { kind: 'anonymous', id: 'anonymous' },
    ],
  ])('lays a risk to whom the credential names: %j', (by, attributedTo) => {
    const [event] = watch().see([call(attribution(by), START_MS, 'credential_invalid')])

    expect(event).toMatchObject({ attributedTo })
    expect(event?.message).toContain(event?.attributedTo.name)
    expect(event?.message).toContain('payments-v1')
  })

  it('keeps tenants, types, APIs, parties and persons apart', () => {
    const by = attribution({ agent: 'agt', person: 'Ada' })
    const each = [
      by,
      { ...by, tenant: 'other' },
      { ...by, api: 'other-v1' },
      { ...by, agent: 'other' },
      { ...by, person: 'Bob' },
    ]
    const { see, detector } = watch()
    see([...each.map((party) => call(party, START_MS, 'rate_limited')), call(by, START_MS, 'payload_invalid')])

    expect([...detector.open]).toHaveLength(6)
  })

  it('gives evidence: totals by status and operation, the five latest requests, and never more names than a bound', () => {
    const { see } = watch()
    const records = Array.from({ length: 200 }, (_, index) =>
      call(attribution({ operation: `op${index % 100}` }), START_MS, 'payload_invalid', {
        status: 400,
        sequence: index,
      }),
    )
    see(records)
    const [updated] = see(many(1, 'payload_invalid', START_MS + 15_000))
    const { total, statuses, operations, requestIds } = updated!.evidence

    expect(total).toBe(201)
    expect(statuses).toEqual({ 400: 200, 401: 1 })
    expect(Object.keys(operations)).toHaveLength(51)
    expect(Object.values(operations).reduce((sum, count) => sum + count, 0)).toBe(201)
    expect(requestIds).toHaveLength(5)
    expect(requestIds[3]).toBe('0123456789abcdef000000c7')
  })

  it('bounds what is open: newcomers of a crowd are counted together, and other tenants keep their names', () => {
    const { see, counted, detector } = watch({ tenantEpisodesMax: 10 })
    const crowd = Array.from({ length: 50 }, (_, index) =>
      attribution({ consumer: `con_${index}`, consumerName: `Name ${index}` }),
    )
    see(crowd.map((by) => call(by, START_MS, 'payload_invalid')))
    const events = see([call(attribution({ tenant: 'other' }), START_MS, 'payload_invalid')])

    expect([...detector.open]).toHaveLength(12)
    expect(counted).toEqual(Array<string>(40).fill('risk_episode_merged'))
    expect(
      [...detector.open].find(({ key }) => key.attributedTo.id === 'others')?.latest(START_MS).evidence.total,
    ).toBe(40)
    expect(events).toMatchObject([{ tenant: 'other', attributedTo: { id: 'con_1' } }])
  })

  it('lets go of who has been quiet for a window before it counts newcomers together, but never of what is Critical', () => {
    const { see, counted, detector } = watch({ tenantEpisodesMax: 3 })
    const party = (name: string) => attribution({ consumer: `con_${name}`, consumerName: name })
    see([call(party('quiet'), START_MS, 'credential_invalid')])
    see(Array.from({ length: 10 }, (_, index) => call(party('grave'), START_MS + index, 'credential_invalid')))
    see([call(party('busy'), START_MS + 50_000, 'credential_invalid')])
    const events = see([call(party('newcomer'), START_MS + 61_000, 'credential_invalid')])

    expect(events.map(({ phase, attributedTo: { name } }) => `${phase} ${name}`)).toEqual([
      'cleared quiet',
      'opened newcomer',
    ])
    expect(events[0]?.message).toContain('closed early')
    see([call(party('another'), START_MS + 62_000, 'credential_invalid')])
    expect(counted).toEqual(['risk_episode_let_go', 'risk_episode_merged'])
    expect([...detector.open].map(({ key }) => key.attributedTo.id).sort()).toEqual([
      'con_busy',
      'con_grave',
      'con_newcomer',
      'others',
    ])
  })

  it('stays within its bound under a flood of a hundred thousand parties', () => {
    const { see, detector, counted } = watch()
    let told = 0
    for (let round = 0; round < 100; round++) {
      const calls = Array.from({ length: 1_000 }, (_, index) =>
        call(
          attribution({ consumer: `con_${round}_${index}` }),
          START_MS + round * 1_000 + index,
          'operation_forbidden',
        ),
      )
      told += see(calls).length
    }

    expect([...detector.open].length).toBeLessThanOrEqual(10_001)
    expect(told + counted.filter((reason) => reason === 'risk_episode_merged').length).toBeGreaterThanOrEqual(100_000)
    expect(told).toBeLessThan(100_000)
  })

  it('goes on where it was saved, event for event', () => {
    const traffic = [
      many(2, 'credential_invalid'),
      many(9, 'credential_invalid', START_MS + 8_000),
      many(1, 'credential_invalid', START_MS + 30_000),
    ]
    const whole = watch()
    const expected = phases([...traffic.flatMap((records) => whole.see(records)), ...whole.calm(START_MS + 90_000)])

    for (let cut = 0; cut <= traffic.length; cut++) {
      const first = watch()
      const told: RiskEvent[] = []
      let saved: readonly SavedEpisode[] = []
      for (const records of traffic.slice(0, cut)) {
        told.push(...first.see(records))
      }
      first.detector.evaluateAll(0)
      saved = [...first.detector.open].map((episode) => JSON.parse(JSON.stringify(episode.save())) as SavedEpisode)
      const second = watch({ saved })
      for (const records of traffic.slice(cut)) told.push(...second.see(records))
      told.push(...second.calm(START_MS + 90_000))

      expect(phases(told), `cut after ${cut}`).toEqual(expected)
    }
  })
})

it('lays a retirement that is blocked to the provider, whoever may be near', () => {
  const { see } = watch()
  const [event] = see([call(attribution({ consumer: '', consumerName: '' }), START_MS, 'retirement_blocked')])
  const { tenant, api } = attribution()
  expect(event).toMatchObject({
    type: 'RetirementBlocked',
    tenant,
    api,
    attributedTo: { kind: 'provider', id: tenant, name: 'The provider' },
  })
})

describe('graded risks', () => {
  const one = (outcome: Outcome, atMs = START_MS) => call(attribution(), atMs, outcome)

  it.each([
    ['undeclared_media_type', 'DesignDrift', 'Design', 'Warning', 'provider'],
    ['undeclared_body', 'DesignDrift', 'Design', 'Warning', 'provider'],
    ['undeclared_status', 'DesignDrift', 'Design', 'Critical', 'provider'],
    ['undeclared_operation', 'DesignDrift', 'Design', 'Critical', 'consumer'],
    ['score_low', 'ComplianceScoreLow', 'Compliance', 'Warning', 'provider'],
    ['score_critical', 'ComplianceScoreLow', 'Compliance', 'Critical', 'provider'],
    ['spool_high', 'SpoolPressure', 'Governance', 'Warning', 'provider'],
    ['spool_critical', 'SpoolPressure', 'Governance', 'Critical', 'provider'],
    ['records_damaged', 'RecordsDamaged', 'Governance', 'Critical', 'provider'],
  ] as const)('%s is %s', (outcome, type, category, severity, kind) => {
    const [event] = watch().see([one(outcome)])

    expect(event).toMatchObject({
      type,
      category,
      severity,
      attributedTo: { kind },
      evidence: { reasons: { [outcome]: 1 } },
    })
  })

  it('are Critical with their first grave event and, of one window, until they clear', () => {
    const { see, calm } = watch()

    expect(phases(see([one('undeclared_body')]))).toEqual(['opened Warning 1'])
    expect(phases(see([one('undeclared_status', START_MS + 2_000)]))).toEqual(['escalated Critical 2'])
    expect(phases(see([one('undeclared_body', START_MS + 100_000)]))).toEqual(['updated Critical 3'])
    expect(phases(calm(START_MS + 301_999))).toEqual([])
    expect(phases(calm(START_MS + 302_000))).toEqual(['deescalated Warning 1'])
    expect(phases(calm(START_MS + 399_999))).toEqual([])
    expect(phases(calm(START_MS + 400_000))).toEqual(['cleared Warning 0'])
  })

  it('keep their gravity over a restart', () => {
    const first = watch()
    first.see([one('spool_critical')])
    const saved = [...first.detector.open].map((episode) => JSON.parse(JSON.stringify(episode.save())) as SavedEpisode)
    const second = watch({ saved })

    expect(phases(second.see([one('spool_high', START_MS + 30_000)]))).toEqual(['updated Critical 2'])
    expect(phases(second.calm(START_MS + 60_000))).toEqual(['deescalated Warning 1'])
  })
})

it('tells of calls past the retirement date by the consumer that makes them', () => {
  const [event] = watch().see([
    call(attribution(), START_MS, 'served', { flags: FLAG_FORWARDED | FLAG_PAST_RETIREMENT }),
  ])

  expect(event).toMatchObject({
    type: 'DeprecatedVersionInUse',
    category: 'Governance',
    severity: 'Warning',
    attributedTo: { kind: 'consumer' },
    evidence: { reasons: { past_retirement: 1 } },
  })
})

it('says how many records are missing and from when, as long as the risk is shown', () => {
  const { see, calm } = watch()
  const first = '12 records from between A and B (spool/gateway-0/0000000007.spool)'
  const second = 'at least 3 records of an unknown time (spool/gateway-1/0000000009.spool)'
  const [opened] = see([call(attribution({ operation: first }), START_MS, 'records_damaged')])
  see([call(attribution({ operation: second }), START_MS + 1, 'records_damaged')])
  const [updated] = calm(START_MS + 10_001)
  const cleared = calm(START_MS + 400_000).at(-1)

  expect(opened?.message).toBe(`The provider has lost call records: ${first}.`)
  expect(updated?.message).toBe(`The provider has lost call records: ${second}.`)
  expect(cleared?.message).toContain(second)
  expect(cleared?.evidence.operations).toEqual({ [first]: 1, [second]: 1 })
})
