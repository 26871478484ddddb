import { describe, expect, it } from 'vitest'
import { ITEMS_MAX } from '../../../../src/boundary/leases/lease-messages.ts'
import type { LeaseNode } from '../../../../src/boundary/leases/lease-node.ts'
import type { LeaseItem, LeaseMessage } from '../../../../src/boundary/leases/lease-messages.ts'
import { settle, type Wait } from '../../../../src/boundary/leases/lease-wait.ts'

const KEY = 'waiting'

function waiting(): { readonly wait: Wait; readonly reached: readonly boolean[] } {
  const reached: boolean[] = []
  const wait = { key: KEY, calls: 1, least: 1, grants: 0, untilMs: 60_000, resolve: (is: boolean) => reached.push(is) }
  return { wait, reached }
}

function nodeThatIsClosed(closedSinceMs: number | null): LeaseNode {
  const state = { closedSinceMs, mayGrantMore: () => false }
  return { isServing: true, openAbove: null, stateOf: () => state, need: () => {} } as unknown as LeaseNode
}

const messageWith = (keys: readonly string[], isSynced = true): LeaseMessage =>
  ({ type: 'request', isSynced, items: keys.map((key) => ({ key }) as LeaseItem) }) as unknown as LeaseMessage
const FULL = Array.from({ length: ITEMS_MAX }, (_, number) => `other ${number}`)

describe('A call whose counter was closed when it was asked for last', () => {
  const moment = { monotonicMs: 30_000, wallMs: 0 }

  it('waits for a message that carries its request, although it was closed for long', () => {
    const { wait, reached } = waiting()
    const full = { message: messageWith(FULL), isExecuted: true }
    expect(settle(full, [wait], nodeThatIsClosed(1_000), moment)).toEqual([wait])
    const carried = { message: messageWith([KEY]), isExecuted: true }
    expect(settle(carried, [wait], nodeThatIsClosed(null), moment)).toEqual([])
    expect(reached).toEqual([true])
  })

  it('waits on after a message that only reports what was used in an earlier generation', () => {
    const { wait, reached } = waiting()
    const sync = { message: messageWith(['other'], false), isExecuted: true }
    expect(settle(sync, [wait], nodeThatIsClosed(1_000), moment)).toEqual([wait])
    expect(settle(sync, [wait], nodeThatIsClosed(null), moment)).toEqual([wait])
    expect(reached).toEqual([])
  })

  it('ends its wait when the reply to its request says that it has been closed for two seconds', () => {
    const { wait, reached } = waiting()
    const carried = { message: messageWith([KEY]), isExecuted: true }
    expect(settle(carried, [wait], nodeThatIsClosed(28_001), moment)).toEqual([wait])
    expect(settle(carried, [wait], nodeThatIsClosed(28_000), moment)).toEqual([])
    expect(reached).toEqual([true])
  })
})
