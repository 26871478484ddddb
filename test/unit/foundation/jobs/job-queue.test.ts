import { expect, it } from 'vitest'
import { createJobQueue } from '../../../../src/foundation/jobs/job-queue.ts'
import { createRandom } from '../../../random.ts'

interface TestJob {
  readonly tenant: string | undefined
  readonly name: string
}

const job = (tenant: string | undefined, name = ''): TestJob => ({ tenant, name })

it('serves tenants in turn, and the jobs of one in order', () => {
  const queue = createJobQueue<TestJob>()
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.push(job(name.slice(0, 1), name))
  const order: string[] = []
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    order.push(next.name)
    queue.ended(next)
  }
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

it('prefers tenants with fewer running jobs', () => {
  const queue = createJobQueue<TestJob>()
  for (const tenant of ['a', 'a', 'a', 'b', 'b']) queue.push(job(tenant))
  expect([queue.next()?.tenant, queue.next()?.tenant]).toEqual(['a', 'b'])
  queue.ended(job('b'))
  expect(queue.next()?.tenant).toBe('b')
})

it('bounds the jobs of each tenant and of all', () => {
  const queue = createJobQueue<TestJob>()
  for (let count = 0; count < 16; count++) queue.push(job('a'))
  expect([queue.isFull('a'), queue.isFull('b')]).toEqual([true, false])
  for (let count = 0; count < 16; count++) queue.push(job(undefined))
  expect([queue.isFull('b'), queue.isFull(undefined)]).toEqual([true, true])
  expect(queue.clear()).toHaveLength(32)
  expect([queue.isFull('a'), queue.next()]).toEqual([false, undefined])
})

it('makes a job wait for at most one later start of each other tenant and thread', () => {
  const random = createRandom(7)
  const tenants = ['a', 'b', 'c', 'd', undefined]
  const queue = createJobQueue<TestJob & { readonly starts: Map<string | undefined, number> }>()
  const waiting = new Set<TestJob & { readonly starts: Map<string | undefined, number> }>()
  const running: (TestJob & { readonly starts: Map<string | undefined, number> })[] = []
  for (let turn = 0; turn < 5_000; turn++) {
    const tenant = tenants[random.below(tenants.length)]
    if (random.below(2) === 0 && !queue.isFull(tenant)) {
      const pushed = { ...job(tenant), starts: new Map<string | undefined, number>() }
      queue.push(pushed)
      // Later jobs of the same tenant wait for the earlier ones too.
      if (![...waiting].some((each) => each.tenant === tenant)) waiting.add(pushed)
    }
    if (running.length === 2) queue.ended(running.splice(random.below(2), 1)[0]!)
    const next = queue.next()
    if (next === undefined) continue
    running.push(next)
    waiting.delete(next)
    for (const { starts } of waiting) starts.set(next.tenant, (starts.get(next.tenant) ?? 0) + 1)
    for (const { tenant: own, starts } of waiting) {
      for (const [other, count] of starts) if (other !== own) expect(count).toBeLessThanOrEqual(2)
    }
  }
})
