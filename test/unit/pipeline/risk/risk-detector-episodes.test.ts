import { describe, expect, it } from 'vitest'
import type { Outcome } from '../../../../src/foundation/domain/outcome.ts'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { callsOf, openTestDetector, phasesOf } from '../../../fixtures/test-risk-detector.ts'

const MINUTE = 60_000

describe('The risk detector', () => {
  it('emits events per episode and not per call, so that a flood causes fewer than twelve', () => {
    const events = openTestDetector().add(callsOf(100_000, 'rate_limited', START_MS, 0.5))

    expect(phasesOf(events)[0]).toMatch(/^opened/)
    expect(events.filter(({ phase }) => phase === 'escalated').length).toBeLessThanOrEqual(2)
    expect(events.length).toBeLessThan(12)
    expect(events.at(-1)).toMatchObject({ severity: 'Critical' })
  })

  it('escalates with volume, de-escalates step by step and clears after five quiet minutes', () => {
    const { add, evaluate } = openTestDetector()
    const events = [
      ...add(callsOf(1, 'credential_invalid')),
      ...add(callsOf(2, 'credential_invalid', START_MS + 1_500)),
    ]
    events.push(...add(callsOf(7, 'credential_invalid', START_MS + 3_000)))
    const lastMs = START_MS + 3_060
    for (let second = 1; second <= 310; second++) events.push(...evaluate(lastMs + second * 1_000))

    expect(events.map(({ phase, severity }) => `${phase} ${severity}`)).toEqual([
      'opened Info',
      'escalated Warning',
      'escalated Critical',
      'deescalated Warning',
      'deescalated Info',
      'cleared Info',
    ])
    expect(events.at(-1)).toMatchObject({ count: 0, lastSeenMs: lastMs, firstSeenMs: START_MS })
    expect(new Set(events.map(({ riskId }) => riskId)).size).toBe(1)
  })

  it('counts only the events of the last minute', () => {
    const { add } = openTestDetector()
    add(callsOf(2, 'credential_invalid', START_MS))
    const [later] = add(callsOf(2, 'credential_invalid', START_MS + MINUTE + 500))

    expect(later).toMatchObject({ phase: 'updated', severity: 'Info', count: 2, evidence: { total: 4 } })
  })

  it('updates an episode at most every ten seconds', () => {
    const { add } = openTestDetector()
    const events = Array.from({ length: 600 }, (_, index) => add(callsOf(1, 'payload_invalid', START_MS + index * 100)))

    expect(events.flat().map(({ phase }) => phase)).toEqual(['opened', ...Array<string>(5).fill('updated')])
  })

  it('opens a new episode after five quiet minutes, even if the silence was not evaluated', () => {
    const { add } = openTestDetector()
    const first = callsOf(1, 'payload_invalid', START_MS)
    const events = add([...first, ...callsOf(1, 'payload_invalid', START_MS + 5 * MINUTE)])

    expect(events.map(({ phase }) => phase)).toEqual(['opened', 'cleared', 'opened'])
    expect(events[0]?.riskId).toBe(events[1]?.riskId)
    expect(events[2]?.riskId).not.toBe(events[0]?.riskId)
  })

  it('opens an episode of late records before it clears it', () => {
    const { add, evaluate } = openTestDetector()
    add(callsOf(1, 'payload_invalid', START_MS + 60 * MINUTE))
    const events = [
      ...add([call(attribution({ consumer: 'con_old' }), START_MS, 'payload_invalid')]),
      ...evaluate(START_MS + 61 * MINUTE),
    ]

    expect(events.map(({ phase, attributedTo }) => `${phase} ${attributedTo.id}`)).toEqual([
      'opened con_old',
      'cleared con_old',
    ])
  })

  it('reports a flood as one episode even after the clock was set back', () => {
    const { add, evaluate } = openTestDetector()
    add([call(attribution({ consumer: 'con_2' }), START_MS + 60 * MINUTE, 'payload_invalid')])
    const events = Array.from({ length: 50 }, (_, second) => [
      ...add(callsOf(10, 'payload_invalid', START_MS + second * 1_000)),
      ...evaluate(START_MS + second * 1_000 + 500),
    ])

    expect(events.flat().map(({ phase }) => phase)).toEqual(['opened', 'updated', 'updated', 'updated', 'updated'])
  })

  it('continues from saved episodes with the same events', () => {
    const traffic = [
      callsOf(2, 'credential_invalid'),
      callsOf(9, 'credential_invalid', START_MS + 8_000),
      callsOf(1, 'credential_invalid', START_MS + 30_000),
    ]
    const whole = openTestDetector()
    const expected = phasesOf([
      ...traffic.flatMap((records) => whole.add(records)),
      ...whole.evaluate(START_MS + 90_000),
    ])

    for (let cut = 0; cut <= traffic.length; cut++) {
      const first = openTestDetector()
      const events: RiskEvent[] = []
      for (const records of traffic.slice(0, cut)) {
        events.push(...first.add(records))
      }
      first.detector.evaluateAll(0)
      const second = openTestDetector({ saved: first.save() })
      for (const records of traffic.slice(cut)) events.push(...second.add(records))
      events.push(...second.evaluate(START_MS + 90_000))

      expect(phasesOf(events), `cut after ${cut}`).toEqual(expected)
    }
  })
})

describe('A graded risk', () => {
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
  ] as const)('has for the outcome %s the type %s', (outcome, type, category, severity, kind) => {
    const [event] = openTestDetector().add([one(outcome)])

    expect(event).toMatchObject({
      type,
      category,
      severity,
      attributedTo: { kind },
      evidence: { reasons: { [outcome]: 1 } },
    })
  })

  it('is Critical while a grave event is in its window', () => {
    const { add, evaluate } = openTestDetector()

    expect(phasesOf(add([one('undeclared_body')]))).toEqual(['opened Warning 1'])
    expect(phasesOf(add([one('undeclared_status', START_MS + 2_000)]))).toEqual(['escalated Critical 2'])
    expect(phasesOf(add([one('undeclared_body', START_MS + 100_000)]))).toEqual(['updated Critical 3'])
    expect(phasesOf(evaluate(START_MS + 301_999))).toEqual([])
    expect(phasesOf(evaluate(START_MS + 302_000))).toEqual(['deescalated Warning 1'])
    expect(phasesOf(evaluate(START_MS + 399_999))).toEqual([])
    expect(phasesOf(evaluate(START_MS + 400_000))).toEqual(['cleared Warning 0'])
  })

  it('stays Critical over a restart while the grave event is in the window', () => {
    const first = openTestDetector()
    first.add([one('spool_critical')])
    const second = openTestDetector({ saved: first.save() })

    expect(phasesOf(second.add([one('spool_high', START_MS + 30_000)]))).toEqual(['updated Critical 2'])
    expect(phasesOf(second.evaluate(START_MS + 60_000))).toEqual(['deescalated Warning 1'])
  })
})
