import { describe, expect, it } from 'vitest'
import { createActiveDeclarations } from '../../../src/limits/active-declarations.ts'
import { createLimitLedger } from '../../../src/limits/limit-ledger.ts'
import { createLimitMemory } from '../../../src/limits/limit-memory.ts'
import type { SlaPlan } from '../../../src/boundary/plan/sla-plan.ts'
import type { Outcome } from '../../../src/foundation/domain/outcome.ts'
import { FLAG_COUNTED, FLAG_FORWARDED, type CallRecord } from '../../../src/storage/spool/call-record.ts'
import type { SpoolPosition } from '../../../src/storage/store/checkpoint.ts'
import type { SavedCounters } from '../../../src/storage/store/limit-checkpoint.ts'
import { attribution, call } from '../../fixtures/calls.ts'
import { createMemorySpool } from '../../fixtures/memory-spool.ts'
import { anyPlan, createRandom } from './any-declaration.ts'
import { openTestLimiter, OPERATIONS, planOf, type TestLimiter } from '../../fixtures/test-limits.ts'
import { createReferenceLimiter, type ReferenceCall } from './reference-limiter.ts'

const NOON_MS = Date.parse('2028-02-28T12:00:00Z')
const DAY_MS = 86_400_000
const API = 'library-v1'

/** Persistent state: the spool, and the counters saved at a position in it. */
function createDisk() {
  const rows = new Map<string, string>()
  return { spool: createMemorySpool(), rows, saved: {} as SpoolPosition }
}

/** Starts a process with that state; the memory of its threads is empty. */
function openProcess(disk: ReturnType<typeof createDisk>, plan: SlaPlan) {
  const memory = createLimitMemory({ threads: 1, restore: (...of) => ledger.counters(...of) })
  const declarations = createActiveDeclarations(memory)
  declarations.setPlan(plan)
  const read = (subscription: string, api: string) => disk.rows.get(`${subscription} ${api}`)
  const ledger = createLimitLedger({
    declarations,
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
    declarations,
    memory,
    counter: () => openTestLimiter(plan, memory),
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
  'counts exactly the answered calls after every crash, like the reference limiter, seed %i',
  (seed) => {
    const random = createRandom(seed)
    const declared = anyPlan(random)
    // A bucket that is filled in another order may have a slightly higher level.
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
        for (const { call: unanswered } of running) reference.remove(unanswered)
        running = []
        now = openProcess(disk, plan)
      }
      const position = random(3)
      const operation = OPERATIONS[position] ?? 'read'
      const opened: TestLimiter = now.counter()
      const expected = reference.take(operation, nowMs)
      const result = opened.take(nowMs, position)
      const where = `seed ${seed}, step ${step}, ${new Date(nowMs).toISOString()}`
      if (!('counted' in expected)) {
        expect(expected, where).toContain(result)
        continue
      }
      expect(result, where).toBe(true)
      const { gauge, quotaStartMs } = opened.limiter.verdict
      const admittedMs = nowMs
      running.push({
        call: expected,
        end() {
          const isFailed = random(3) === 0
          const unitsMicro = expected.units * 1_000_000
          opened.limiter.release(opened.block, gauge)
          if (isFailed) opened.limiter.giveBack(opened.sla, opened.block, unitsMicro, quotaStartMs)
          if (isFailed) expected.units = 0
          expected.isRunning = false
          const charged = { unitsMicro: isFailed ? 0 : unitsMicro, admittedAgoMs: nowMs - admittedMs }
          disk.spool.append('gateway-0', [counted(operation, nowMs, charged)])
        },
      })
    }
  },
)

describe('the limit ledger', () => {
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

  it('does not count calls that the limits refused or did not check', () => {
    const disk = createDisk()
    const outcomes: Outcome[] = ['credential_invalid', 'rate_limited', 'quota_exhausted', 'served']
    const by = attribution({ api: API, operation: 'read' })
    disk.spool.append(
      'gateway-0',
      outcomes.map((outcome) => call(by, NOON_MS, outcome)),
    )
    expect(usedIn(openProcess(disk, planOf(LIMITS)).ledger).every(([, used]) => used === 0)).toBe(true)
  })

  it('does not warn again after a crash in a window with a warning', () => {
    const disk = createDisk()
    disk.spool.append(
      'gateway-0',
      [1, 2, 3, 4].map((second) => counted('read', NOON_MS + second)),
    )
    const { counter } = openProcess(disk, planOf(LIMITS))
    const opened = counter()
    expect(opened.take(NOON_MS + 60_000)).toBe(true)
    expect(opened.limiter.verdict.approaching).toBe(false)
    expect(opened.take(NOON_MS + 60_000)).toBe('a day')
    expect(opened.limiter.verdict.approaching).toBe(false)
  })

  it('adds unsaved records again exactly once after a reset', () => {
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

  it('continues counters by meaning if another variant or version is active after a restart', () => {
    const disk = createDisk()
    openProcess(disk, planOf(LIMITS))
    disk.spool.append('gateway-0', [counted('read', NOON_MS), counted('read', NOON_MS)])
    openProcess(disk, planOf(LIMITS)).save()
    const wider = planOf({ limits: [{ name: 'gold', totals: { day: 3, hour: 9 } }] })
    const opened = openProcess(disk, wider).counter()
    expect([opened.take(NOON_MS), opened.take(NOON_MS)]).toEqual([true, 'gold day'])
  })

  it('stores the breaches of 30 days; refusals less than five minutes apart are one', () => {
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
