/**
 * Every summary equals the sum of all usage that was ever stored, or it is refused, whatever is removed when.
 *
 * Statements of closed months do not change when their line items and sums are removed.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RetentionDays } from '../../../src/storage/store/retention.ts'
import type { StoredStatement } from '../../../src/storage/store/statement-store.ts'
import type { LineItem, SummaryQuery } from '../../../src/storage/store/usage-store.ts'
import { readSeed } from '../../random-seed.ts'
import { createRandom } from '../../random.ts'
import {
  countBefore,
  DAY,
  expectExactOrRefused,
  expectRemoved,
  FIRST,
  HOUR,
  itemsBetween,
  nextMonth,
  openUsageService,
  START,
  sumOfMonth,
  totalOf,
  type UsageService,
} from './removed-usage.ts'
import { item } from './usage-items.ts'

const SEEDS = Number(process.env['SEEDS'] ?? 1)
const STEPS = Number(process.env['STEPS'] ?? 6)
const OLD = Date.UTC(2025, 7, 5, 9)

let folder: string
let service: UsageService
let nowMs: number

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'retention-'))
  nowMs = START
  service = await openUsageService(folder)
})
afterEach(async () => {
  await service.client.close()
  rmSync(folder, { recursive: true, force: true })
})

async function reopen(days: Partial<RetentionDays>): Promise<void> {
  await service.client.close()
  service = await openUsageService(folder, days)
}

const statementOf = (consumer: string, monthMs: number) =>
  service.statements.read({ tenant: 'own', consumer, monthMs, excludeApi: 'none-v1', nowMs })
const countItems = () => countBefore(service.client, 'line_items', 'window_start', nowMs)

describe('retention of usage', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => readSeed(1) + index))(
    'never changes a sum that is still answered (seed %i)',
    { timeout: 300_000 },
    async (seed) => {
      const random = createRandom(seed)
      const items = itemsBetween(random, [FIRST, nowMs], 700)
      await service.usage.insert('first', items)
      const closed = new Map<string, StoredStatement['lines']>()
      let refused = 0
      for (let step = 0; step < STEPS; step++) {
        const lineItems = 31 + random.below(100)
        await reopen({ lineItems, sums: lineItems + random.below(120) })
        const note = `step ${step}`
        refused += await expectExactOrRefused(service, { random, items, nowMs, note: `${note}, opened` })
        await service.maintain(nowMs)
        await expectRemoved(service)
        refused += await expectExactOrRefused(service, { random, items, nowMs, note: `${note}, removed` })
        for (let monthMs = FIRST; monthMs < nowMs; monthMs = nextMonth(monthMs)) {
          if (monthMs < service.retention.kept.sumsFromMs) continue
          const consumer = `con_${random.below(4)}`
          const statement = await statementOf(consumer, monthMs)
          const about = `${note}, ${consumer} in ${new Date(monthMs).toISOString()}`
          expect(totalOf(statement), about).toEqual(sumOfMonth(items, consumer, monthMs))
          if (statement.closedMs === null) continue
          const key = `${consumer} ${monthMs}`
          expect(statement.lines, about).toEqual(closed.get(key) ?? statement.lines)
          closed.set(key, statement.lines)
        }
        // Some arrive late, also before what is kept.
        const late = itemsBetween(random, [Math.max(FIRST, nowMs - 150 * DAY), nowMs], 20)
        nowMs += random.below(25) * DAY + random.below(DAY)
        const added = [...late, ...itemsBetween(random, [nowMs - 5 * DAY, nowMs], 60)]
        await service.usage.insert(`step-${step}`, added)
        items.push(...added)
      }
      expect(refused).toBeGreaterThan(0)
      expect(service.retention.kept.lineItemsFromMs).toBeGreaterThan(FIRST)
    },
  )

  it('refuses what is gone with the setting and the earliest time, also after the setting is longer again', async () => {
    await service.usage.insert('first', [
      item({ tenant: 'own', windowStartMs: OLD }),
      item({ tenant: 'own', windowStartMs: nowMs - DAY }),
    ])
    await service.maintain(nowMs)
    const all: SummaryQuery = { tenant: 'own', fromMs: 1, toMs: nowMs, groupBy: [], limit: 9 }
    expect((await service.usage.summaries(all)).rows).toMatchObject([{ calls: 2 }])

    await reopen({ lineItems: 31 })
    await service.maintain(nowMs)
    await reopen({})
    await service.maintain(nowMs)
    const keptFrom = '2025-12-01T00:00:00.000Z'
    const list = service.usage.lineItems({ tenant: 'own', fromMs: OLD, toMs: nowMs, limit: 9 })
    await expect(list).rejects.toMatchObject({
      code: 'payload_invalid',
      message: `Line items are kept from ${keptFrom} on (RETENTION_LINE_ITEMS_DAYS). Send this time or a later one as \`from\`.`,
      errors: [{ pointer: '/from' }],
      extensions: { keptFrom },
    })
    const wholeHours = { ...all, fromMs: 0, toMs: nowMs - (nowMs % HOUR) }
    expect((await service.usage.summaries(wholeHours)).rows).toMatchObject([{ calls: 2 }])
    await expect(service.usage.summaries({ ...wholeHours, fromMs: OLD + 1_000 })).rejects.toMatchObject({
      errors: [
        { pointer: '/from', detail: expect.stringMatching(/^Before 2025-12-01T.* \(RETENTION_LINE_ITEMS_DAYS\)/) },
      ],
    })
    await expect(service.usage.summaries({ ...wholeHours, toMs: OLD + 1_000 })).rejects.toMatchObject({
      errors: [{ pointer: '/to' }],
      extensions: { keptFrom },
    })

    await reopen({ lineItems: 31, sums: 31 })
    await service.maintain(nowMs)
    await expect(service.usage.summaries(wholeHours)).rejects.toMatchObject({
      message: `Sums are kept from ${keptFrom} on (RETENTION_SUMS_DAYS). Send this time or a later one as \`from\`.`,
    })
    expect((await service.usage.summaries({ ...all, fromMs: Date.parse(keptFrom) })).rows).toMatchObject([{ calls: 1 }])
  })

  it('removes the line items of a month only after its statement is closed', async () => {
    await service.usage.insert('first', [item({ tenant: 'own', windowStartMs: OLD })])
    await reopen({ lineItems: 31 })
    await service.retention.expire(nowMs)
    expect(service.retention.kept.lineItemsFromMs).toBe(0)
    expect(await countItems()).toBe(1)
    await service.statements.close(nowMs)
    await service.retention.expire(nowMs)
    expect(await countItems()).toBe(0)
  })

  it('keeps corrections: those before the removal per price, later ones per API, also without sums', async () => {
    const month = Date.UTC(2025, 7)
    const of = (changes: Partial<LineItem>) => item({ tenant: 'own', windowStartMs: OLD, ...changes })
    await service.usage.insert('first', [of({}), of({ priceMicro: 500_000 })])
    await service.statements.close(nowMs)
    await service.usage.insert('late', [of({ unitsMicro: 3_000_000n }), of({ priceMicro: 500_000, calls: 4 })])
    const before = await statementOf('con_1', month)
    expect(before.corrections).toHaveLength(2)
    await reopen({ lineItems: 31 })
    await service.maintain(nowMs)
    expect(await statementOf('con_1', month)).toEqual(before)

    const later = of({ calls: 2, unitsMicro: 3_000_000n, priceMicro: 123_456 })
    await service.usage.insert('later', [later])
    const price = { api: 'payments-v1', currency: 'EUR', price: '0.123456' }
    const correction = { ...price, calls: 2, units: '3', amount: '0.370368' }
    const after = { ...before, corrections: [correction, ...before.corrections] }
    expect(await statementOf('con_1', month)).toEqual(after)
    for (let time = 0; time < 2; time++) {
      await service.maintain(nowMs)
      expect(await statementOf('con_1', month)).toEqual(after)
    }
    expect(await countItems()).toBe(0)

    await reopen({ lineItems: 31, sums: 31 })
    await service.maintain(nowMs)
    expect(await countBefore(service.client, 'line_items_hourly', 'hour', nowMs)).toBe(0)
    expect(await statementOf('con_1', month)).toEqual(after)
    expect(await statementOf('con_2', month)).toMatchObject({ lines: [], corrections: [] })
    await service.maintain(nowMs)
    expect(await statementOf('con_1', month)).toEqual(after)
  })
})
