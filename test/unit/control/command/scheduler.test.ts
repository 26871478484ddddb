import { onTestFinished, describe, expect, it } from 'vitest'
import { DUE_KIND, dropDueWrite, dueWrite } from '../../../../src/control/command/due-times.ts'
import { createScheduler, type DueHandlers } from '../../../../src/control/command/scheduler.ts'
import { openSqliteRegistry } from '../../../../src/storage/store/sqlite/registry.ts'
import { RevisionConflict, type Registry } from '../../../../src/storage/store/registry.ts'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { createFakeClock, type FakeClock } from '../../../fixtures/fake-clock.ts'

const START_MS = Date.UTC(2027, 0, 15)
const DAY_MS = 86_400_000
const AUTHOR = { tenant: 'acme', consumer: 'con_1' }

function open(clock: FakeClock = createFakeClock(START_MS), registry?: Registry) {
  const store = registry ?? openSqliteRegistry({ path: ':memory:', clock })
  const done: string[] = []
  const counted: string[] = []
  const failing = new Set<string>()
  const full = new Set<string>()
  const hindered = new Set<string>()
  const handlers: DueHandlers = {
    async task({ subject }) {
      if (failing.has(subject)) throw new Error(`${subject} fails`)
      if (full.has(subject)) throw new Problem('unavailable', 'full', { cause: new StoreUnwritable('full') })
      if (hindered.has(subject)) throw new RevisionConflict('changed by another command')
      done.push(`${subject} ${clock.nowMs() - START_MS}`)
    },
  }
  const scheduler = createScheduler({
    registry: store,
    handlers,
    clock,
    log: { error: () => {} },
    count: (reason) => counted.push(reason),
  })
  onTestFinished(() => scheduler.stop())
  const add = (subject: string, inMs: number) =>
    store.commit(AUTHOR, 'test', [dueWrite({ tenant: 'acme', kind: 'task', subject, atMs: START_MS + inMs })])
  const left = async () => (await store.list(DUE_KIND, { limit: 999 })).map(({ body }) => body.subject)
  return { scheduler, clock, registry: store, done, counted, failing, full, hindered, add, left }
}

describe('the scheduler', () => {
  it('runs each task at its time, in order of time, independent of when it was added', async () => {
    const { scheduler, clock, add, done, left } = open()
    await add('b', 2_000)
    await scheduler.start()
    await add('c', 3_000)
    await add('a', 1_000)
    await clock.advance(10_000)
    expect(done).toEqual(['a 1000', 'b 2000', 'c 3000'])
    expect(await left()).toEqual([])
  })

  it('runs tasks that are due later than `setTimeout` can wait', async () => {
    const { scheduler, clock, add, done } = open()
    await scheduler.start()
    await add('a', 400 * DAY_MS)
    await clock.advance(400 * DAY_MS - 1)
    expect(done).toEqual([])
    await clock.advance(1)
    expect(done).toEqual([`a ${400 * DAY_MS}`])
  })

  it('runs a task that a full disk has delayed within two seconds after the disk has space', async () => {
    const { scheduler, clock, add, done, full } = open()
    full.add('a')
    await add('a', 0)
    await scheduler.start()
    await clock.advance(600_000)
    full.delete('a')
    await clock.advance(2_000)
    expect(done).toHaveLength(1)
  })

  it('runs tasks that fell due during downtime once at startup', async () => {
    const first = open()
    for (let number = 0; number < 250; number++) await first.add(`s${number}`, number)
    await first.clock.advance(DAY_MS)
    const second = open(first.clock, first.registry)
    await second.scheduler.start()
    expect(second.done).toHaveLength(250)
    expect(new Set(second.done).size).toBe(250)
    expect(await second.left()).toEqual([])
  })

  it('runs a task again after a crash between the task and its commit', async () => {
    const first = open()
    await first.add('a', 0)
    const { commit } = first.registry
    first.registry.commit = () => Promise.reject(new Error('the process died'))
    await first.scheduler.start()
    first.scheduler.stop()
    first.registry.commit = commit
    const second = open(first.clock, first.registry)
    await second.scheduler.start()
    expect([first.done, second.done]).toEqual([['a 0'], ['a 0']])
    expect(await second.left()).toEqual([])
  })

  it('retries a failed task with back-off, and runs the other tasks meanwhile', async () => {
    const { scheduler, clock, add, done, counted, failing, left } = open()
    failing.add('a')
    await add('a', 0)
    await add('b', 0)
    await scheduler.start()
    expect([done, counted]).toEqual([['b 0'], ['due_failed']])
    await clock.advance(4_999)
    expect(counted).toHaveLength(1)
    await clock.advance(1)
    expect(counted).toHaveLength(2)
    await clock.advance(9_999)
    expect(counted).toHaveLength(2)
    failing.clear()
    await clock.advance(1)
    expect(done).toEqual(['b 0', 'a 15000'])
    expect(await left()).toEqual([])
  })

  it('retries a task whose commit conflicts with another command', async () => {
    const { scheduler, clock, add, done, hindered, left } = open()
    hindered.add('a')
    await add('a', 0)
    await scheduler.start()
    expect([done, await left()]).toEqual([[], ['a']])
    hindered.clear()
    await clock.advance(5_000)
    expect([done, await left()]).toEqual([['a 5000'], []])
  })

  it('does not retry a task that another command has removed while it ran', async () => {
    const { scheduler, clock, add, counted, hindered, registry } = open()
    hindered.add('a')
    await add('a', 0)
    const { get } = registry
    registry.get = async (kind, id) => {
      registry.get = get
      await registry.commit(AUTHOR, 'test', await dropDueWrite(registry, 'task', 'a', START_MS))
      return get(kind, id)
    }
    await scheduler.start()
    expect([counted, clock.pending]).toEqual([[], 0])
  })

  it('retries a failed task no later if the clock was set back meanwhile', async () => {
    const { scheduler, clock, add, counted, failing } = open()
    failing.add('a')
    await add('a', -DAY_MS)
    await scheduler.start()
    clock.setBack(3_600_000)
    await clock.advance(5_000)
    expect(counted).toHaveLength(2)
  })

  it('does not run a removed task', async () => {
    const { scheduler, clock, add, done, registry } = open()
    await scheduler.start()
    await add('a', 1_000)
    await registry.commit(AUTHOR, 'test', await dropDueWrite(registry, 'task', 'a', START_MS + 1_000))
    await clock.advance(2_000)
    expect(done).toEqual([])
  })

  it('runs no task after it was stopped', async () => {
    const { scheduler, clock, add, done } = open()
    await scheduler.start()
    await add('a', 1_000)
    scheduler.stop()
    await add('b', 1_000)
    await clock.advance(2_000)
    expect(done).toEqual([])
  })
})
