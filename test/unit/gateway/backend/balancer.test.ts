import { describe, expect, it } from 'vitest'
import type { Backend } from '../../../../src/gateway/backend/backend.ts'
import { Balancer } from '../../../../src/gateway/backend/balancer.ts'
import { UpstreamGate } from '../../../../src/gateway/backend/upstream-gate.ts'
import type { BackendPlan } from '../../../../src/boundary/plan/route-plan.ts'
import type { SlotUser } from '../../../../src/gateway/backend/backend-slots.ts'
import { createRandom } from '../../../random.ts'

const NOW_MS = 1_000_000
const SHUT = { mode: 'shut', retryAtMs: NOW_MS + 9_000 } as const

interface Options extends Partial<BackendPlan> {
  readonly weights: readonly number[]
}

/** Targets `a`, `b`, … with these weights. */
function open({ weights, ...plan }: Options) {
  const targets = weights.map((weight, index) => ({ origin: `http://${'abcdefgh'[index]!}`, basePath: '', weight }))
  const balancer = new Balancer(
    { origin: targets[0]!.origin, basePath: '', timeoutMs: 1_000, mayBePrivate: true, targets, ...plan },
    { threads: 1, connect: (_, base) => base },
  )
  let nowMs = NOW_MS
  const clock = (): number => nowMs
  const nameOf = ({ plan: { origin } }: Backend): string => origin.slice('http://'.length)
  return {
    balancer,
    backends: balancer.backends,
    clock,
    pass: (ms: number) => void (nowMs += ms),
    /** Chooses a target as a call does. */
    choose(holder = '', isSafe = true): string {
      const backend = balancer.choose(holder, isSafe, clock)
      return backend.gate.waitMs(clock) > 0 ? 'none' : nameOf(backend)
    },
    chooseMany(count: number): string {
      return Array.from({ length: count }, () => this.choose()).join('')
    },
    other(tried: readonly number[], holder = '', isSafe = true): string | null {
      const backend = balancer.chooseOther(
        tried.map((index) => balancer.backends[index]!),
        holder,
        isSafe,
        clock,
      )
      return backend === null ? null : nameOf(backend)
    },
  }
}

const user = (): SlotUser => ({
  previous: null,
  next: null,
  dueAt: 0,
  slotAt: 0,
  slotNext: null,
  slotPrevious: null,
  isSlotHeld: false,
  bytesMoved: 0,
  onGranted() {},
  onDenied() {},
  onEvicted() {},
  onDue() {},
})

describe('a balancer with one target', () => {
  it('names it, so that a call needs no choice', () => {
    expect(open({ weights: [1] }).balancer.only?.plan.origin).toBe('http://a')
    expect(open({ weights: [1, 1] }).balancer.only).toBeNull()
  })

  it('keeps the plan of a backend without targets as it is', () => {
    const plan: BackendPlan = { origin: 'http://a', basePath: '/x', timeoutMs: 1, mayBePrivate: false }
    expect(new Balancer(plan, { threads: 1, connect: (_, base) => base }).only?.plan).toBe(plan)
  })
})

describe('round robin', () => {
  it('takes one target after the other', () => {
    expect(open({ weights: [1, 1, 1] }).chooseMany(7)).toBe('abcabca')
  })

  it('spreads the calls of a heavy target', () => {
    expect(open({ weights: [5, 1, 1] }).chooseMany(14)).toBe('aabacaaaabacaa')
  })

  it('gives every target exactly its weight in each round, for any weights', () => {
    for (let seed = 0; seed < 50; seed++) {
      const { below } = createRandom(seed)
      const weights = Array.from({ length: 2 + below(6) }, () => 1 + below(20))
      const sum = weights.reduce((total, weight) => total + weight, 0)
      const { chooseMany, choose } = open({ weights })
      for (let repetition = 0; repetition < 3; repetition++) {
        const chosen = chooseMany.call({ choose }, sum)
        const counts = weights.map((_, index) => chosen.split('abcdefgh'[index]!).length - 1)
        expect(counts, `seed ${seed}`).toEqual(weights)
      }
    }
  })

  it('skips a target whose gate is shut, and shares its calls among the others by weight', () => {
    const targets = open({ weights: [1, 2, 1] })
    targets.backends[1]!.gate.set(SHUT)
    expect(targets.chooseMany(6)).toBe('acacac')
    targets.backends[1]!.gate.set({ mode: 'open', retryAtMs: 0 })
    expect(targets.chooseMany(8).split('b')).toHaveLength(5)
  })

  it('sends a target that recovers one call per second', () => {
    const targets = open({ weights: [1, 1] })
    targets.backends[0]!.gate.set({ mode: 'trial', retryAtMs: 0 })
    expect(targets.chooseMany(5)).toBe('abbbb')
    targets.pass(1_000)
    expect(targets.chooseMany(5).split('a')).toHaveLength(2)
  })

  it('does not use up the call of a target that it does not take', () => {
    const targets = open({ weights: [1, 1] })
    for (const backend of targets.backends) backend.gate.set({ mode: 'trial', retryAtMs: 0 })
    expect([targets.choose(), targets.choose(), targets.choose()]).toEqual(['a', 'b', 'none'])
  })

  it('returns the target with the shortest wait if no gate admits a call', () => {
    const { balancer, backends, clock } = open({ weights: [1, 1, 1] })
    backends[0]!.gate.set(SHUT)
    backends[1]!.gate.set({ mode: 'shut', retryAtMs: NOW_MS + 2_000 })
    backends[2]!.gate.set(SHUT)
    expect(balancer.choose('', true, clock).gate.waitMs(clock)).toBe(2_000)
  })
})

describe('a call that is not safe to lose', () => {
  const TRIAL = { mode: 'trial', retryAtMs: 0 } as const

  it('goes to no target that recovers while another one is open, and leaves the trial to the next safe call', () => {
    const targets = open({ weights: [1, 1, 1] })
    targets.backends[0]!.gate.set(TRIAL)
    const unsafe = Array.from({ length: 6 }, () => targets.choose('', false)).join('')
    expect(unsafe).toBe('bcbcbc')
    expect(targets.chooseMany(3).split('a')).toHaveLength(2)
    expect(targets.choose('', false)).not.toBe('a')
  })

  it('goes to an open target without a free connection rather than to one that recovers', () => {
    const targets = open({ weights: [1, 1], connections: 1 })
    targets.backends[0]!.gate.set(TRIAL)
    targets.backends[1]!.slots.acquire(user(), 'other', 0)
    expect([targets.choose('', false), targets.choose('', true)]).toEqual(['b', 'a'])
  })

  it.each(['roundRobin', 'leastBusy'] as const)('is the trial if no other target is open: %s', (balance) => {
    const targets = open({ weights: [1, 1], balance })
    targets.backends[0]!.gate.set(TRIAL)
    targets.backends[1]!.gate.set(SHUT)
    expect([targets.choose('', false), targets.choose('', false)]).toEqual(['a', 'none'])
    targets.pass(1_000)
    expect(targets.choose('', false)).toBe('a')
  })

  it('moves on to a target that recovers only if no other one is open', () => {
    const targets = open({ weights: [1, 1, 1] })
    targets.backends[1]!.gate.set(TRIAL)
    expect([targets.other([0], '', false), targets.other([0, 2], '', false)]).toEqual(['c', 'b'])
  })

  it('is the trial after half a minute without one, so that a target without other calls recovers', () => {
    const targets = open({ weights: [1, 1] })
    targets.backends[0]!.gate.set(TRIAL)
    const many = (): string => Array.from({ length: 10 }, () => targets.choose('', false)).join('')
    expect(many()).not.toContain('a')
    targets.pass(29_999)
    expect(many()).not.toContain('a')
    targets.pass(1)
    expect(many().split('a')).toHaveLength(2)
    targets.pass(30_999)
    expect(many()).not.toContain('a')
    targets.pass(1)
    expect(many().split('a')).toHaveLength(2)
  })

  it('waits anew if a safe call was the trial', () => {
    const targets = open({ weights: [1, 1] })
    targets.backends[0]!.gate.set(TRIAL)
    expect(targets.choose('', false)).toBe('b')
    targets.pass(29_000)
    expect(targets.chooseMany(2)).toContain('a')
    targets.pass(30_000)
    expect([targets.choose('', false), targets.choose('', false)]).toEqual(['b', 'b'])
  })
})

describe('the choice of a balancer', () => {
  it('prefers targets with a free connection for the holder, and takes a busy one otherwise', () => {
    const targets = open({ weights: [1, 1], connections: 2 })
    const [a, b] = targets.backends
    a!.slots.acquire(user(), 'greedy', 0)
    expect([targets.choose('greedy'), targets.choose('greedy')]).toEqual(['b', 'b'])
    b!.slots.acquire(user(), 'greedy', 0)
    expect([targets.choose('greedy'), targets.choose('greedy')].toSorted()).toEqual(['a', 'b'])
  })

  it('does not depend on the connections of other holders', () => {
    const targets = open({ weights: [1, 1], connections: 2 })
    targets.backends[0]!.slots.acquire(user(), 'greedy', 0)
    expect([targets.choose('good'), targets.choose('good')]).toEqual(['a', 'b'])
  })

  it('is never a target that was tried, nor one that is shut', () => {
    const { other, backends } = open({ weights: [1, 1, 1] })
    expect(other([0, 1])).toBe('c')
    expect(other([0, 1, 2])).toBeNull()
    backends[2]!.gate.set(SHUT)
    expect(other([0])).toBe('b')
    expect(other([0, 1])).toBeNull()
  })
})

describe('least busy', () => {
  const busy = (backend: Backend, calls: number): void => {
    for (let count = 0; count < calls; count++) backend.beginCall()
  }

  it('takes the target with the fewest calls in flight by weight', () => {
    const { choose, backends } = open({ weights: [1, 4, 1], balance: 'leastBusy' })
    busy(backends[0]!, 1)
    busy(backends[1]!, 3)
    busy(backends[2]!, 2)
    expect(choose()).toBe('b')
    busy(backends[1]!, 2)
    expect(choose()).toBe('a')
  })

  it('shares ties by round robin', () => {
    expect(open({ weights: [1, 1, 1], balance: 'leastBusy' }).chooseMany(6)).toBe('abcabc')
  })

  it('skips a target that is shut although it is idle', () => {
    const { choose, backends } = open({ weights: [1, 1], balance: 'leastBusy' })
    busy(backends[1]!, 100)
    backends[0]!.gate.set(SHUT)
    expect(choose()).toBe('b')
  })
})

describe('the gates of a balancer', () => {
  it('are those of the thread, by scope and target', () => {
    const { balancer, backends } = open({ weights: [1, 1] })
    const gates = new Map(balancer.gateKeys('a-v1').map((key) => [key, new UpstreamGate()]))
    expect([...gates.keys()]).toEqual(['a-v1 http://a', 'a-v1 http://b'])
    balancer.setGates('a-v1', (key) => gates.get(key)!)
    expect(backends.map(({ gate }) => gate)).toEqual([...gates.values()])
    expect(backends[0]!.gate).toBe(gates.get('a-v1 http://a'))
  })
})

describe('the budget of retries of a balancer', () => {
  /** Repetitions that are left. */
  const spend = ({ balancer, clock }: ReturnType<typeof open>): number => {
    let spent = 0
    while (balancer.retries?.withdraw(clock()) === true) spent++
    return spent
  }

  it('does not exist if there is one target', () => {
    expect(open({ weights: [1] }).balancer.retries).toBeNull()
  })

  it('grows by the calls that a target gets, once each', () => {
    const targets = open({ weights: [1, 1] })
    const empty = spend(targets)
    expect(empty).toBeGreaterThan(0)
    targets.chooseMany(50)
    for (let count = 0; count < 50; count++) targets.other([0])
    expect(spend(targets)).toBe(10)
  })

  it('does not grow by calls that no gate admits', () => {
    const targets = open({ weights: [1, 1] })
    spend(targets)
    for (const backend of targets.backends) backend.gate.set(SHUT)
    targets.chooseMany(50)
    expect(spend(targets)).toBe(0)
  })

  it('is not that of another balancer', () => {
    const [one, other] = [open({ weights: [1, 1] }), open({ weights: [1, 1] })]
    spend(one)
    expect(spend(other)).toBeGreaterThan(0)
  })
})
