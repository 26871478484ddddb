import { describe, expect, it } from 'vitest'
import {
  FLAG_APPROACHING_LIMIT,
  FLAG_FORWARDED,
  FLAG_PAST_RETIREMENT,
} from '../../../../src/storage/spool/call-record.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { callsOf, openTestDetector, phasesOf } from '../../../fixtures/test-risk-detector.ts'

describe('The risk detector', () => {
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
  ] as const)('opens for the outcome %s an episode of %s', (outcome, type, category, severity) => {
    expect(openTestDetector().add(callsOf(1, outcome))).toMatchObject([{ type, category, severity, phase: 'opened' }])
  })

  it('emits no event for outcomes that are not a risk', () => {
    const outcomes = [
      'served',
      'not_found',
      'method_not_allowed',
      'api_retired',
      'upstream_timeout',
      'unavailable',
      'client_aborted',
    ] as const
    const { add } = openTestDetector()

    expect(outcomes.flatMap((outcome) => add(callsOf(20, outcome)))).toEqual([])
  })

  it('ignores a path that is not canonical if the caller is unknown', () => {
    const { add } = openTestDetector()
    const unknown = attribution({ consumer: '', consumerName: '' })

    expect(add([call(unknown, START_MS, 'path_not_canonical')])).toEqual([])
  })

  it('emits the warning of an approaching limit before the breach', () => {
    const by = attribution()
    const near = call(by, START_MS, 'served', { flags: FLAG_FORWARDED | FLAG_APPROACHING_LIMIT })
    const both = call(by, START_MS, 'rate_limited', { flags: FLAG_APPROACHING_LIMIT })

    expect(openTestDetector().add([near])).toMatchObject([{ type: 'ApproachingLimit', severity: 'Warning' }])
    expect(
      openTestDetector()
        .add([both])
        .map(({ type }) => type),
    ).toEqual(['ApproachingLimit', 'RateLimitBreach'])
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
  ])('attributes a risk to the party of the credential: %j', (by, attributedTo) => {
    const [event] = openTestDetector().add([call(attribution(by), START_MS, 'credential_invalid')])

    expect(event).toMatchObject({ attributedTo })
    expect(event?.message).toContain(event?.attributedTo.name)
    expect(event?.message).toContain('payments-v1')
  })

  it('attributes a blocked retirement to the provider', () => {
    const { add } = openTestDetector()
    const [event] = add([call(attribution({ consumer: '', consumerName: '' }), START_MS, 'retirement_blocked')])
    const { tenant, api } = attribution()
    expect(event).toMatchObject({
      type: 'RetirementBlocked',
      tenant,
      api,
      attributedTo: { kind: 'provider', id: tenant, name: 'The provider' },
    })
  })

  it('attributes calls past the retirement date to the consumer', () => {
    const [event] = openTestDetector().add([
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

  it('opens separate episodes per tenant, type, API, party and person', () => {
    const by = attribution({ agent: 'agt', person: 'Ada' })
    const each = [
      by,
      { ...by, tenant: 'other' },
      { ...by, api: 'other-v1' },
      { ...by, agent: 'other' },
      { ...by, person: 'Bob' },
    ]
    const { add, detector } = openTestDetector()
    add([...each.map((party) => call(party, START_MS, 'rate_limited')), call(by, START_MS, 'payload_invalid')])

    expect([...detector.openEpisodes]).toHaveLength(6)
  })

  it('collects evidence: totals by status and operation, the five latest requests, and a bounded number of names', () => {
    const { add } = openTestDetector()
    const records = Array.from({ length: 200 }, (_, index) =>
      call(attribution({ operation: `op${index % 100}` }), START_MS, 'payload_invalid', {
        status: 400,
        sequence: index,
      }),
    )
    add(records)
    const [updated] = add(callsOf(1, 'payload_invalid', START_MS + 15_000))
    const { total, statuses, operations, requestIds } = updated!.evidence

    expect(total).toBe(201)
    expect(statuses).toEqual({ 400: 200, 401: 1 })
    expect(Object.keys(operations)).toHaveLength(51)
    expect(Object.values(operations).reduce((sum, count) => sum + count, 0)).toBe(201)
    expect(requestIds).toHaveLength(5)
    expect(requestIds[3]).toBe('0123456789abcdef000000c7')
  })

  it('names a failing canary with its API and both revisions in the message, in one episode until it clears', () => {
    const { add, evaluate } = openTestDetector()
    const which = 'revision 3 of payments-v1, compared with revision 2'
    const at = (minute: number) =>
      call({ ...attribution(), operation: which }, START_MS + minute * 60_000, 'canary_failing', { status: 0 })
    const events = [0, 1, 2].flatMap((minute) => [...add([at(minute)]), ...evaluate(START_MS + minute * 60_000)])
    expect(phasesOf(events)).toEqual(['opened Warning 1', 'updated Warning 2', 'updated Warning 3'])
    const [opened] = events
    const text = `The provider has a canary that fails more often than the active revision: ${which}.`
    expect(opened).toMatchObject({ type: 'CanaryFailing', category: 'Performance', message: text })
    expect(opened?.attributedTo).toMatchObject({ kind: 'provider', id: attribution().tenant })
    expect(evaluate(START_MS + 419_999)).toEqual([])
    const [cleared] = evaluate(START_MS + 420_000)
    expect(cleared?.message).toBe(`${text} It has ended, or has not failed for five minutes.`)
    expect(cleared?.phase).toBe('cleared')
  })

  it('names the number and time of lost records in the message until the risk clears', () => {
    const { add, evaluate } = openTestDetector()
    const first = '12 records from between A and B (spool/gateway-0/0000000007.spool)'
    const second = 'at least 3 records of an unknown time (spool/gateway-1/0000000009.spool)'
    const [opened] = add([call(attribution({ operation: first }), START_MS, 'records_damaged')])
    add([call(attribution({ operation: second }), START_MS + 1, 'records_damaged')])
    const [updated] = evaluate(START_MS + 10_001)
    const cleared = evaluate(START_MS + 400_000).at(-1)

    expect(opened?.message).toBe(`The provider has lost call records: ${first}.`)
    expect(updated?.message).toBe(`The provider has lost call records: ${second}.`)
    expect(cleared?.message).toContain(second)
    expect(cleared?.evidence.operations).toEqual({ [first]: 1, [second]: 1 })
  })
})
