import { describe, expect, it } from 'vitest'
import {
  LiveModel,
  KEPT,
  KNOWN_MAX,
  type LiveRisk,
  type Shown,
} from '../../../../../../src/interfaces/console/views/risks/live-model.ts'
import { showRisk } from '../../../../../../src/interfaces/platform/risk-shape.ts'
import { riskEvent } from '../../../../../fixtures/risk-event.ts'

const idOf = (number: number): string => `rsk_${String(number).padStart(6, '0')}`
const risk = (number: number, fields: Partial<LiveRisk> = {}): LiveRisk => ({
  ...showRisk(riskEvent({ riskId: idOf(number) })),
  ...fields,
})
const risks = (count: number): LiveRisk[] => Array.from({ length: count }, (_, number) => risk(number))
const idsOf = (rows: Shown['rows']): readonly string[] => (rows ?? []).map(({ riskId }) => riskId)

describe('The live list', () => {
  it('shows the newest episodes first, and changes a row in place', () => {
    const model = new LiveModel()
    model.apply([risk(1), risk(3), risk(2)])
    const changed = risk(1, { severity: 'Critical' })
    model.apply([changed])
    const { rows } = model.all()
    expect(idsOf(rows)).toEqual([idOf(3), idOf(2), idOf(1)])
    expect(rows?.[2]).toBe(changed)
  })

  it('keeps the object of an unchanged episode, so that its row is not drawn again', () => {
    const model = new LiveModel()
    model.apply([risk(1), risk(2)])
    const before = model.all().rows
    model.apply([risk(1, { count: 13 })])
    const after = model.all().rows
    expect(after?.[0]).toBe(before?.[0])
    expect(after?.[1]).not.toBe(before?.[1])
  })

  it('lets new episodes wait and cleared ones stay while it is held, and changes rows in place', () => {
    const model = new LiveModel()
    model.apply([risk(1), risk(2)])
    model.all()
    model.apply([risk(3), risk(1, { phase: 'cleared' }), risk(2, { count: 13 })])
    const { rows, waiting } = model.held()
    expect(rows).toMatchObject([
      { riskId: idOf(2), count: 13 },
      { riskId: idOf(1), phase: 'cleared' },
    ])
    expect(idsOf(waiting)).toEqual([idOf(3)])
    const released = model.all()
    expect(idsOf(released.rows)).toEqual([idOf(3), idOf(2)])
    expect(released.waiting).toEqual([])
  })

  it('counts no new episode that was cleared while it waited', () => {
    const model = new LiveModel()
    model.apply([risk(1)])
    model.all()
    model.apply([risk(2), risk(2, { phase: 'cleared' })])
    expect(model.held().waiting).toEqual([])
  })

  it('is bounded to the newest episodes, and older ones come back only when there is room', () => {
    const model = new LiveModel()
    const all = risks(KNOWN_MAX + 1)
    model.apply(all)
    expect(model.all().rows).toHaveLength(KEPT)
    expect(model.all().rows?.[0]?.riskId).toBe(idOf(KNOWN_MAX))
    model.apply([risk(0, { count: 99 })])
    expect(model.all().rows).toHaveLength(KEPT)
    model.apply([risk(KNOWN_MAX, { phase: 'cleared' }), risk(0)])
    expect(model.all().rows?.at(-1)?.riskId).toBe(idOf(0))
  })

  it('is as long as the episodes that are open, however many have come and gone', () => {
    const model = new LiveModel()
    for (let number = 0; number < 10 * KNOWN_MAX; number++)
      model.apply([risk(number), risk(number, { phase: 'cleared' })])
    model.apply([risk(1_000_000)])
    expect(model.all().rows).toHaveLength(1)
  })

  it('prefers what the stream sent while it was read to the list, which is older', () => {
    const model = new LiveModel()
    model.beginLoad()
    const changed = risk(1, { count: 99 })
    model.apply([changed, risk(2, { phase: 'cleared' })])
    model.endLoad({ items: [risk(1), risk(2), risk(3)], isComplete: true })
    expect(model.all().rows).toMatchObject([{ riskId: idOf(3) }, changed])
  })

  it('drops episodes that were cleared while the stream was away, if the list is complete', () => {
    const model = new LiveModel()
    model.apply([risk(1), risk(2)])
    for (const isComplete of [false, true]) {
      model.beginLoad()
      model.endLoad({ items: [risk(2)], isComplete })
      expect(idsOf(model.all().rows)).toEqual(isComplete ? [idOf(2)] : [idOf(2), idOf(1)])
    }
  })
})
