import { describe, expect, it } from 'vitest'
import { createActiveDeclarations } from '../../../../src/gateway/limits/active-declarations.ts'
import { createLimitLedger } from '../../../../src/gateway/limits/limit-ledger.ts'
import { createLimitMemory } from '../../../../src/gateway/limits/limit-memory.ts'
import type { SlaPlan } from '../../../../src/plan/sla-plan.ts'
import type { Outcome } from '../../../../src/domain/outcome.ts'
import { FLAG_COUNTED, FLAG_FORWARDED, type CallRecord } from '../../../../src/record/call-record.ts'
import type { SpoolPosition } from '../../../../src/store/checkpoint.ts'
import type { SavedCounters } from '../../../../src/store/limit-checkpoint.ts'
import { attribution, call } from '../../../fixtures/calls.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'
import { anyPlan, createRandom } from './any-declaration.ts'
import { openDesk, OPERATIONS, planOf, type Desk } from '../../../fixtures/test-limits.ts'
import { createReferenceLimiter, type ReferenceCall } from './reference-limiter.ts'

const NOON_MS = Date.parse('2028-02-28T12:00:00Z')
const DAY_MS = 86_400_000
const API = 'library-v1'

/** What is on disk: the spool, and counters as of a position in it. */
function createDisk() {
  const rows = new Map<string, string>()
  return { spool: createMemorySpool(), rows, saved: {} as SpoolPosition }
}

/** A process on that disk; its threads' memory begins empty. */
function openProcess(disk: ReturnType<typeof createDisk>, plan: SlaPlan) {
  const memory = createLimitMemory({ threads: 1, restore: (...of) => ledger.counters(...of) })
  const desk = createActiveDeclarations(memory)
  desk.setPlan(plan)
  const read = (subscription: string, api: string) => disk.rows.get(`${subscription} ${api}`)
  const ledger = createLimitLedger({
    declarations: desk,
    checkpoint: {
      countersOf(...of) {
        const row = read(...of)
        return row === undefined ? null : (JSON.parse(row) as SavedCounters)
      },
    },
  })
  let position = disk.spool.read(disk.saved, ledger.add)
  return {
    ledger,
    desk,
    memory,
    counter: () => openDesk(plan, memory),
    readOn: () => void (position = disk.spool.read(position, ledger.add)),
    save() {
      position = disk.spool.read(position, ledger.add)
      for (const each of ledger.take()) disk.rows.set(`${each.subscription} ${each.api}`, JSON.stringify(each))
      ledger.saved()
      disk.saved = position
    },
  }
}

function counted(operation: string, timeMs: number, changes: Partial<CallRecord> = {}): CallRecord {
  const by = attribution({ api: API, operation })
  return call(by, timeMs, 'served', { flags: FLAG_COUNTED | FLAG_FORWARDED, ...changes })
}

it.each(Array.from({ length: 120 }, (_, seed) => seed))(
  'decides after every death as if those who were answered had called and nobody else, seed %i',
  (seed) => {
    const random = createRandom(seed)
    const declared = anyPlan(random)
    // A bucket that is filled in another order may be a little fuller than it was.
    const isInOrder = declared.limits.some(({ rate }) => rate !== undefined)
    const plan = planOf(declared)
    const reference = createReferenceLimiter(declared)
    const disk = createDisk()
    let now = openProcess(disk, plan)
    let running: { call: ReferenceCall; end: () => void }[] = []
    let nowMs = NOON_MS

    function end(index: number): void {
      const [one] = running.splice(index, 1)
      one?.end()
    }

    for (let step = 0; step < 250; step++) {
      nowMs += [0, 1, 700, 20_000, 61_000, 3_600_000, 40_000_000][random(7)] ?? 0
      if (running.length > 0 && (isInOrder || random(3) === 0)) end(random(running.length))
      if (random(12) === 0) now.save()
      if (random(25) === 0) {
        for (const { call: unanswered } of running) reference.forget(unanswered)
        running = []
        now = openProcess(disk, plan)
      }
      const position = random(3)
      const operation = OPERATIONS[position] ?? 'read'
      const desk: Desk = now.counter()
      const expected = reference.take(operation, nowMs)
      const taken = desk.take(nowMs, position)
      const where = `seed ${seed}, step ${step}, ${new Date(nowMs).toISOString()}`
      if (!('counted' in expected)) {
        expect(expected, where).toContain(taken)
        continue
      }
      expect(taken, where).toBe(true)
      const { gauge, quotaStartMs } = desk.limiter.verdict
      const admittedMs = nowMs
      running.push({
        call: expected,
        end() {
          const isFailed = random(3) === 0
          const unitsMicro = expected.units * 1_000_000
          desk.limiter.release(desk.block, gauge)
          if (isFailed) desk.limiter.giveBack(desk.sla, desk.block, unitsMicro, quotaStartMs)
          if (isFailed) expected.units = 0
          expected.isRunning = false
          const charged = { unitsMicro: isFailed ? 0 : unitsMicro, admittedAgoMs: nowMs - admittedMs }
          disk.spool.append('gateway-0', [counted(operation, nowMs, charged)])
        },
      })
    }
  },
)

describe('a limit ledger', () => {
  const LIMITS = { limits: [{ name: 'a', totals: { day: 5 } }], quotas: { period: 'Monthly', resourceUnits: 100 } }
  const usedIn = (ledger: ReturnType<typeof openProcess>['ledger']) =>
    ledger.counters('sub_1', API).map(({ key, slots }) => [key, slots[1]])

  it('counts a call in the window of its decision, not of its end', () => {
    const disk = createDisk()
    const midnight = NOON_MS + DAY_MS / 2
    disk.spool.append('gateway-0', [
      counted('read', midnight + 5, { admittedAgoMs: 6 }),
      counted('read', midnight + 5, { admittedAgoMs: 5 }),
      counted('read', midnight + 900_000, { admittedAgoMs: 900_001 }),
    ])
    const { ledger } = openProcess(disk, planOf(LIMITS))
    expect(usedIn(ledger)).toEqual([
      ['a/totals.day', 1],
      ['quota Monthly', 3_000_000],
    ])
  })

  it('counts nothing of a call that the limits refused or never saw', () => {
    const disk = createDisk()
    const outcomes: Outcome[] = ['credential_invalid', 'rate_limited', 'quota_exhausted', 'served']
    const by = attribution({ api: API, operation: 'read' })
    disk.spool.append(
      'gateway-0',
      outcomes.map((outcome) => call(by, NOON_MS, outcome)),
    )
    expect(usedIn(openProcess(disk, planOf(LIMITS)).ledger).every(([, used]) => used === 0)).toBe(true)
  })

  it('does not warn again in a window of which the warning was given before the death', () => {
    const disk = createDisk()
    disk.spool.append(
      'gateway-0',
      [1, 2, 3, 4].map((second) => counted('read', NOON_MS + second)),
    )
    const { counter } = openProcess(disk, planOf(LIMITS))
    const desk = counter()
    expect(desk.take(NOON_MS + 60_000)).toBe(true)
    expect(desk.limiter.verdict.approaching).toBe(false)
    expect(desk.take(NOON_MS + 60_000)).toBe('a day')
    expect(desk.limiter.verdict.approaching).toBe(false)
  })

  it('adds again, once, what was not saved', () => {
    const disk = createDisk()
    const now = openProcess(disk, planOf(LIMITS))
    disk.spool.append('gateway-0', [counted('read', NOON_MS)])
    now.save()
    disk.spool.append('gateway-0', [counted('read', NOON_MS)])
    now.readOn()
    now.ledger.reset()
    disk.spool.read(disk.saved, now.ledger.add)
    expect(usedIn(now.ledger)).toEqual([
      ['a/totals.day', 2],
      ['quota Monthly', 2_000_000],
    ])
  })

  it('goes on by meaning where another variant or version is in force meanwhile', () => {
    const disk = createDisk()
    openProcess(disk, planOf(LIMITS))
    disk.spool.append('gateway-0', [counted('read', NOON_MS), counted('read', NOON_MS)])
    openProcess(disk, planOf(LIMITS)).save()
    const wider = planOf({ limits: [{ name: 'gold', totals: { day: 3, hour: 9 } }] })
    const desk = openProcess(disk, wider).counter()
    expect([desk.take(NOON_MS), desk.take(NOON_MS)]).toEqual([true, 'gold day'])
  })

  it('notes breaches: refusals less than five minutes apart are one, those of 30 days count', () => {
    const disk = createDisk()
    const by = attribution({ api: API, operation: 'read' })
    const at = [0, 1, 299_999, 599_998, 899_998, DAY_MS]
    disk.spool.append(
      'gateway-0',
      at.map((afterMs) => call(by, NOON_MS + afterMs, 'rate_limited')),
    )
    const now = openProcess(disk, planOf(LIMITS))
    now.save()
    const { ledger } = openProcess(disk, planOf(LIMITS))
    const breaches = (nowMs: number) => ledger.breachesMs('sub_1', API, nowMs).map((timeMs) => timeMs - NOON_MS)
    expect(breaches(NOON_MS + 2 * DAY_MS)).toEqual([0, 899_998, DAY_MS])
    expect(breaches(NOON_MS + 30 * DAY_MS)).toEqual([899_998, DAY_MS])
    expect(ledger.breachesMs('sub_2', API, NOON_MS)).toEqual([])
  })
})
