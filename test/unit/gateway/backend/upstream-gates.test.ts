import { describe, expect, it } from 'vitest'
import { gateKey } from '../../../../src/gateway/backend/gate-key.ts'
import type { UpstreamReport } from '../../../../src/gateway/backend/upstream-gate.ts'
import { createUpstreamGates } from '../../../../src/gateway/backend/upstream-gates.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const TARGET = { origin: 'http://backend', basePath: '' }

function open() {
  const clock = createFakeClock(0)
  const sent: UpstreamReport[] = []
  const gates = createUpstreamGates({ clock, send: (reports) => sent.push(...reports) })
  return { clock, sent, gates }
}

describe('the gates of a thread', () => {
  it('count each target of each API for itself', async () => {
    const { clock, sent, gates } = open()
    const key = gateKey('a-v1', TARGET)
    gates.of(key).failed(performance.now())
    for (const other of [gateKey('b-v1', TARGET), gateKey('a-v1', { ...TARGET, basePath: '/x' })])
      gates.of(other).answered(200, 10, performance.now())
    await clock.advance(100)
    expect(sent.splice(0)).toEqual([{ key, ok: 0, failed: 1, latencyUs: 0 }])
    await clock.advance(900)
    expect(sent.map(({ key: reported, ok, failed }) => [reported, ok, failed])).toEqual([
      ['b-v1 http://backend', 1, 0],
      ['a-v1 http://backend/x', 1, 0],
    ])
  })

  it('are shut for one target without a change for another', () => {
    const { gates, clock } = open()
    gates.set('a-v1 http://one', { mode: 'shut', retryAtMs: 5_000 })
    expect(gates.of('a-v1 http://one').waitMs(clock.nowMs)).toBe(5_000)
    expect(gates.of('b-v1 http://one').waitMs(clock.nowMs)).toBe(0)
    gates.set('a-v1 http://one', { mode: 'open', retryAtMs: 0 })
    expect(gates.of('a-v1 http://one').waitMs(clock.nowMs)).toBe(0)
  })

  it('are forgotten with their target, and report nothing then', async () => {
    const { gates, clock, sent } = open()
    const before = gates.of('a-v1 http://one')
    gates.drop('a-v1 http://one')
    gates.set('a-v1 http://one', { mode: 'open', retryAtMs: 0 })
    before.failed(performance.now())
    await clock.advance(1_000)
    expect(sent).toEqual([])
    expect(gates.of('a-v1 http://one')).not.toBe(before)
  })
})
