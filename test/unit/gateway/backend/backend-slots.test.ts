import { describe, expect, it } from 'vitest'
import { BackendSlots, type SlotUser } from '../../../../src/gateway/backend/backend-slots.ts'
import type { Timed } from '../../../../src/foundation/runtime/deadline-queue.ts'
import { createRandom } from '../../../random.ts'

class User implements SlotUser {
  previous: Timed | null = null
  next: Timed | null = null
  dueAt = 0
  slotAt = 0
  slotNext: SlotUser | null = null
  slotPrevious: SlotUser | null = null
  isSlotHeld = false
  bytesMoved = 0
  state: 'new' | 'held' | 'denied' | 'evicted' = 'new'
  readonly name: string
  readonly slots: BackendSlots
  readonly order: User[]

  constructor(name: string, slots: BackendSlots, order: User[]) {
    this.name = name
    this.slots = slots
    this.order = order
  }

  onGranted(): void {
    this.state = 'held'
    this.order.push(this)
  }

  onDenied(): void {
    this.state = 'denied'
  }

  onEvicted(): void {
    this.state = 'evicted'
    this.slots.release(this, this.name)
  }

  onDue(): void {
    this.slots.onWaitDue(this, this.name, performance.now())
  }
}

function open(connections: number) {
  const slots = new BackendSlots({ connections, waitMs: 60_000 })
  const order: User[] = []
  const acquire = (name: string): User => {
    const user = new User(name, slots, order)
    slots.acquire(user, name, 0)
    return user
  }
  return { slots, order, acquire, release: (user: User) => slots.release(user, user.name) }
}

describe('BackendSlots', () => {
  it('grants freed connections round-robin to the waiting holders, and in order within one', () => {
    const { order, acquire, release } = open(4)
    const first = [acquire('a'), acquire('a'), acquire('b'), acquire('b')]
    for (const name of ['a', 'a', 'a', 'b', 'c']) acquire(name)
    const waiting = [...order]
    for (const user of first) release(user)
    // `b` still holds its half when the second connection is freed, so `c` is next.
    expect(order.slice(waiting.length).map(({ name }) => name)).toEqual(['a', 'c', 'b', 'a'])
    for (const user of order.slice(waiting.length)) release(user)
  })

  it('shares a single connection among all holders', () => {
    const { acquire, release } = open(1)
    const user = acquire('a')
    const other = acquire('b')
    expect([user.state, other.state]).toEqual(['held', 'new'])
    release(user)
    expect(other.state).toBe('held')
    release(other)
  })

  it('evicts the slowest call of the largest holder after a while without a freed connection', () => {
    const { acquire, slots, release } = open(4)
    const users = [acquire('a'), acquire('a'), acquire('b'), acquire('b')]
    users[0]!.bytesMoved = 10
    users[1]!.bytesMoved = 5
    const waiting = acquire('c')
    slots.onWaitDue(waiting, 'c', 2_000)
    expect(users.map(({ state }) => state)).toEqual(['held', 'evicted', 'held', 'held'])
    expect(waiting.state).toBe('held')
    for (const user of [...users, waiting]) release(user)
  })

  it('evicts no call if the waiting holder would then have more than the largest one', () => {
    const { acquire, slots, release } = open(4)
    const users = [acquire('a'), acquire('a'), acquire('b'), acquire('c')]
    const waiting = acquire('b')
    slots.onWaitDue(waiting, 'b', 2_000)
    expect(users.every(({ state }) => state === 'held')).toBe(true)
    for (const user of [...users, waiting]) release(user)
  })

  it('denies a call that has waited too long, and removes it from the queue', () => {
    const { acquire, slots, release } = open(1)
    const user = acquire('a')
    const waiting = acquire('b')
    slots.onWaitDue(waiting, 'b', 60_000)
    expect(waiting.state).toBe('denied')
    release(user)
    expect(slots.held).toBe(0)
  })

  it('never grants more than all connections, nor more than half to one holder, for random holders', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = createRandom(seed)
      const connections = 1 + random.below(20)
      const { slots, acquire, release } = open(connections)
      const users: User[] = []
      for (let round = 0; round < 400; round++) {
        if (users.length > 0 && random.below(2) === 0) release(users.splice(random.below(users.length), 1)[0]!)
        else users.push(acquire(`holder ${random.below(4)}`))
        const held = users.filter(({ state }) => state === 'held')
        expect(held.length, `seed ${seed}`).toBe(slots.held)
        expect(held.length, `seed ${seed}`).toBeLessThanOrEqual(connections)
        const byHolder = Map.groupBy(held, ({ name }) => name)
        for (const each of byHolder.values()) {
          expect(each.length, `seed ${seed}`).toBeLessThanOrEqual(Math.max(1, Math.floor(connections / 2)))
        }
      }
      for (const user of users) release(user)
      expect(slots.held, `seed ${seed}`).toBe(0)
    }
  })
})
