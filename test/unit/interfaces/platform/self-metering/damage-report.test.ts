import { expect, it } from 'vitest'
import { createDamageReport } from '../../../../../src/interfaces/platform/self-metering/damage-report.ts'
import type { Damage } from '../../../../../src/storage/spool/damage.ts'
import { createMetrics } from '../../../../../src/foundation/runtime/metrics.ts'
import { createFakeClock } from '../../../../fixtures/fake-clock.ts'

const LOST: Damage = {
  file: 'spool/gateway-0/0000000007.spool',
  what: 'A spool segment is damaged.',
  records: 12,
  isExact: true,
  fromMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  toMs: Date.UTC(2026, 0, 2, 3, 4, 9),
}

function open() {
  const clock = createFakeClock(0)
  const metrics = createMetrics()
  const logged: string[] = []
  const counted: string[] = []
  const log = {
    error: (detail: object, text: string) => void logged.push(`error ${text} ${JSON.stringify(detail)}`),
    warn: (detail: object, text: string) => void logged.push(`warn ${text} ${JSON.stringify(detail)}`),
  }
  const damage = createDamageReport({ metrics, clock, log: log as never, count: (reason) => counted.push(reason) })
  const notes: string[] = []
  let refuses = false
  const recorder = {
    async note(code: string, tenant: string, api: string, party: unknown, text = '') {
      if (refuses) throw new Error('no space')
      notes.push([code, tenant, api, String(party), text].join(' | '))
    },
  }
  return { clock, metrics, logged, counted, notes, damage, recorder, refuse: (now: boolean) => (refuses = now) }
}

const NOTE =
  'records_damaged | operator | platform-v1 | null | ' +
  '12 records from between 2026-01-02T03:04:05.000Z and 2026-01-02T03:04:09.000Z (spool/gateway-0/0000000007.spool)'

it('a damage report is an error in the log, two counters and a note with number, time range and file', async () => {
  const { damage, recorder, logged, counted, notes, metrics } = open()
  damage.connect(recorder, 'operator')
  damage.report(LOST)

  expect(logged).toHaveLength(1)
  expect(logged[0]).toMatch(/^error A spool segment is damaged\. Call records are missing.*0000000007.*"records":12/)
  expect(counted).toEqual(['records_damaged'])
  expect(await metrics.registry.metrics()).toContain('tollgate_records_damaged_total{number="exact"} 12')
  expect(notes).toEqual([NOTE])
})

it('damage found before the recorder exists is raised later', () => {
  const { damage, recorder, notes } = open()
  damage.report(LOST)
  damage.report({ ...LOST, records: 3, isExact: false, fromMs: null, toMs: null })
  damage.connect(recorder, 'operator')

  expect(notes).toEqual([NOTE, expect.stringContaining('| at least 3 records of an unknown time (spool/')])
})

it('a risk that the disk refuses is retried until it is recorded once', async () => {
  const { damage, recorder, notes, refuse, clock } = open()
  damage.connect(recorder, 'operator')
  refuse(true)
  damage.report(LOST)
  await Promise.resolve()
  await clock.advance(10_000)
  refuse(false)
  await clock.advance(10_000)
  await clock.advance(60_000)

  expect(notes).toEqual([NOTE])
})

it('beyond the bound, damage is merged into the last queued risk, and all records are counted', () => {
  const { damage, recorder, notes } = open()
  for (let index = 0; index < 1_500; index++) damage.report({ ...LOST, records: 1 })
  damage.connect(recorder, 'operator')

  expect(notes).toHaveLength(1_000)
  expect(notes.at(-1)).toContain('| 501 records from')
})

it('damage that costs no record is a warning and no risk', () => {
  const { damage, recorder, notes, logged, counted } = open()
  damage.connect(recorder, 'operator')
  damage.report({ ...LOST, records: 0 })

  expect(logged[0]).toMatch(/^warn /)
  expect(counted).toEqual(['file_damaged'])
  expect(notes).toEqual([])
})
