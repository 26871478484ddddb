import { describe, expect, it } from 'vitest'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { openTestDetector } from '../../../fixtures/test-risk-detector.ts'

describe('The risk detector', () => {
  it('merges the parties of a tenant above its bound, and keeps those of other tenants separate', () => {
    const { add, counted, detector } = openTestDetector({ tenantEpisodesMax: 10 })
    const crowd = Array.from({ length: 50 }, (_, index) =>
      attribution({ consumer: `con_${index}`, consumerName: `Name ${index}` }),
    )
    add(crowd.map((by) => call(by, START_MS, 'payload_invalid')))
    const events = add([call(attribution({ tenant: 'other' }), START_MS, 'payload_invalid')])

    expect([...detector.openEpisodes]).toHaveLength(12)
    expect(counted).toEqual(Array<string>(40).fill('risk_episode_merged'))
    expect(
      [...detector.openEpisodes].find(({ key }) => key.attributedTo.kind === 'others')?.latest(START_MS).evidence.total,
    ).toBe(40)
    expect(events).toMatchObject([{ tenant: 'other', attributedTo: { id: 'con_1' } }])
  })

  it('evicts an episode that was quiet for its window before it merges parties, but never a Critical one', () => {
    const { add, counted, detector } = openTestDetector({ tenantEpisodesMax: 3 })
    const party = (name: string) => attribution({ consumer: `con_${name}`, consumerName: name })
    add([call(party('quiet'), START_MS, 'credential_invalid')])
    add(Array.from({ length: 10 }, (_, index) => call(party('grave'), START_MS + index, 'credential_invalid')))
    add([call(party('busy'), START_MS + 50_000, 'credential_invalid')])
    const events = add([call(party('new'), START_MS + 61_000, 'credential_invalid')])

    expect(events.map(({ phase, attributedTo: { name } }) => `${phase} ${name}`)).toEqual([
      'cleared quiet',
      'opened new',
    ])
    expect(events[0]?.message).toContain('closed early')
    add([call(party('another'), START_MS + 62_000, 'credential_invalid')])
    expect(counted).toEqual(['risk_episode_let_go', 'risk_episode_merged'])
    expect([...detector.openEpisodes].map(({ key }) => key.attributedTo.id).sort()).toEqual([
      'con_busy',
      'con_grave',
      'con_new',
      'others',
    ])
  })

  it('stays within its bound under a flood from a hundred thousand parties', () => {
    const { add, detector, counted } = openTestDetector()
    let emitted = 0
    for (let round = 0; round < 100; round++) {
      const calls = Array.from({ length: 1_000 }, (_, index) =>
        call(
          attribution({ consumer: `con_${round}_${index}` }),
          START_MS + round * 1_000 + index,
          'operation_forbidden',
        ),
      )
      emitted += add(calls).length
    }

    expect([...detector.openEpisodes].length).toBeLessThanOrEqual(10_001)
    expect(emitted + counted.filter((reason) => reason === 'risk_episode_merged').length).toBeGreaterThanOrEqual(
      100_000,
    )
    expect(emitted).toBeLessThan(100_000)
  })
})
