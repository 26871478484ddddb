import { describe, expect, it } from 'vitest'
import { LEASE_CELL } from '../../../../src/boundary/leases/lease-cell.ts'
import { grant } from '../../../../src/boundary/leases/grantor.ts'
import { createGrantorState, type GrantorState } from '../../../../src/boundary/leases/grantor-state.ts'
import { farewellOf, reportHandOvers, type HandOver } from '../../../../src/boundary/leases/hand-over.ts'
import type { LeaseMessage, LeaseReply, LeaseRequest } from '../../../../src/boundary/leases/lease-messages.ts'
import { ITEMS_MAX } from '../../../../src/boundary/leases/lease-messages.ts'
import { LEASE_TIMINGS } from '../../../../src/boundary/leases/lease-timings.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createCluster } from '../../../fixtures/lease-cluster.ts'

const NOW_MS = 1_000_000
const HOUR_MS = 3_600_000

/** A generation that waits for `members`, of which the last one asks for the total of `key`. */
function generationOf(members: readonly string[], ended: Readonly<Record<string, number>> = {}) {
  const state: GrantorState = createGrantorState()
  const moment = { nowMs: NOW_MS, runId: 'run' }
  const send = (message: LeaseMessage, nowMs = NOW_MS): LeaseReply =>
    grant(state, message, { ...moment, nowMs }, LEASE_TIMINGS)
  send({ type: 'open', epoch: 1, runId: 'run', isFirst: false, members, ended, notAfterMs: NOW_MS })
  let sequence = 0
  const ask = (startMs: number, nowMs = NOW_MS, kind: 'total' | 'concurrent' = 'total') => {
    const budget =
      kind === 'total'
        ? ({ kind, version: 1, value: 100, startMs, endMs: startMs + HOUR_MS } as const)
        : ({ kind, version: 1, value: 100, callMsMax: 600_000 } as const)
    const reply = send(
      {
        type: 'request',
        node: members.at(-1)!,
        session: 1,
        sequence: ++sequence,
        ...boundsAt(nowMs),
        isSynced: true,
        items: [{ key: 'key', budget, held: 0, used: 0, want: 100 }],
      },
      nowMs,
    )
    if (reply.type !== 'granted') throw new Error(reply.type)
    return { ...reply.grants[0]!, waiting: reply.waiting }
  }
  return { state, send, ask }
}

const boundsAt = (nowMs: number) => ({ epoch: 1, notBeforeMs: nowMs - 1, notAfterMs: nowMs + 1 })
const windowsOf = (count: number, claim: number) =>
  Array.from({ length: count }, (_, index) => ({
    key: index === 0 ? 'key' : `key ${index}`,
    startMs: 0,
    endMs: HOUR_MS,
    claim,
  }))

describe('A node that left', () => {
  function report(left: readonly HandOver[], send: (message: LeaseMessage) => Promise<LeaseReply>) {
    const clock = createFakeClock(0)
    const faults: unknown[] = []
    const stop = reportHandOvers({
      read: async () => left,
      send,
      bounds: () => boundsAt(NOW_MS),
      isWaiting: () => true,
      clock,
      onFault: (cause) => void faults.push(cause),
    })
    return { look: () => clock.advance(1_000), faults, stop }
  }

  it('is reported by the others, so that nothing waits for it and its calls count', async () => {
    const { send, ask } = generationOf(['left', 'a'])
    expect(ask(0)).toEqual({ granted: 0, free: 0, isOpen: false, waiting: ['left'] })
    const { look, stop } = report([{ identity: 'left', session: 7, windows: windowsOf(450, 60) }], async (message) =>
      send(message),
    )
    await look()
    const { free, granted, isOpen, waiting } = ask(0)
    expect({ sum: free + granted, isOpen, waiting }).toEqual({ sum: 40, isOpen: true, waiting: [] })
    await stop()
  })

  it('is not taken as reported before all of its windows are', async () => {
    const { send, ask } = generationOf(['left', 'a'])
    let isLost = true
    const sent: LeaseRequest[] = []
    const { look, faults, stop } = report(
      [{ identity: 'left', session: 1, windows: windowsOf(2 * ITEMS_MAX, 60) }],
      async (message) => {
        if (message.type === 'request') sent.push(message)
        if (isLost && sent.length === 1) return { type: 'clock', nowMs: 0 }
        if (isLost && sent.length === 3) throw new Error('lost')
        return send(message)
      },
    )
    await look()
    expect(sent.map(({ sequence }) => sequence)).toEqual([1])
    await look()
    expect(sent.map(({ sequence }) => sequence)).toEqual([1, 1, 2])
    expect(faults).toHaveLength(1)
    expect(ask(0).isOpen).toBe(false)
    isLost = false
    await look()
    expect(sent.slice(3).map(({ sequence, isSynced }) => [sequence, isSynced])).toEqual([
      [1, false],
      [2, true],
    ])
    expect(ask(0)).toMatchObject({ isOpen: true, waiting: [] })
    await stop()
  })

  it('has handed over what it admitted, and not what it returned', () => {
    const cluster = createCluster(2, {
      kind: 'total',
      version: 1,
      value: 1_000,
      windowAt: () => ({ startMs: 0, endMs: 2e9 }),
    })
    const [leaving] = cluster.nodes
    cluster.pass(3_000)
    for (let call = 0; call < 40; call++) {
      leaving!.call()
      cluster.pass(20)
    }
    // More calls wait than come.
    leaving!.node.need('counter', 60, { monotonicMs: cluster.nowMs, wallMs: cluster.nowMs })
    cluster.pass(100)
    const admitted = leaving!.cell[LEASE_CELL.used]!
    leaving!.node.releaseAll()
    cluster.pass(100)
    expect(Math.max(...leaving!.journal.map(({ claim }) => claim))).toBeGreaterThan(admitted)
    expect(leaving!.node.handOver()).toEqual({
      identity: 'node-0',
      session: 1,
      windows: [{ key: 'counter', startMs: 0, endMs: 2e9, claim: admitted }],
    })
  })
})

describe('The last message of a node', () => {
  it('makes the grantor evict it, and keeps what it has used', () => {
    const { state, send, ask } = generationOf(['a'])
    ask(0)
    const claims = () => Object.values((state.counters.get('total:key 0') as { claims: Record<string, number> }).claims)
    const used = claims()
    const left = { identity: 'a', session: 1, windows: [] }
    expect(send(farewellOf(left, boundsAt(NOW_MS)))).toMatchObject({ type: 'granted' })
    expect([Object.keys(state.generation!.nodes), claims()]).toEqual([[], used])
    // A generation that begins on the same server does not wait for it.
    send({ type: 'open', epoch: 2, runId: 'run', isFirst: false, members: [], notAfterMs: NOW_MS })
    expect(state.generation).toMatchObject({ epoch: 2, waiting: {}, readyMs: NOW_MS })
  })
})

describe('A node that was removed', () => {
  const REMOVED_AGO_MS = 600_000

  it('closes no window that began after it', () => {
    const { ask } = generationOf(['removed', 'a'], { removed: REMOVED_AGO_MS })
    const endedMs = NOW_MS - REMOVED_AGO_MS
    expect(ask(endedMs + LEASE_TIMINGS.windowMarginMs).isOpen).toBe(false)
    expect(ask(endedMs + LEASE_TIMINGS.windowMarginMs + 1).isOpen).toBe(true)
  })

  it('is waited for as one that runs, if the server has heard it', () => {
    const { send, state } = generationOf(['removed', 'a'])
    send({ ...farewellOf({ identity: 'removed', session: 1, windows: [] }, boundsAt(NOW_MS)), isLast: false })
    const ended = { removed: REMOVED_AGO_MS }
    send({ type: 'open', epoch: 2, runId: 'run', isFirst: false, members: ['removed'], ended, notAfterMs: NOW_MS })
    expect(state.generation).toMatchObject({ waiting: { removed: 0 }, ended: {} })
  })

  it('is named only while a window of before it can be open', () => {
    const { ask } = generationOf(['removed', 'a'])
    const lastMs = NOW_MS + HOUR_MS + 2 * LEASE_TIMINGS.windowMarginMs
    expect(ask(lastMs, lastMs - 1).waiting).toEqual(['removed'])
    expect(ask(lastMs, lastMs).waiting).toEqual([])
  })

  it('closes slots for as long as its calls can last', () => {
    const lastsMs = LEASE_TIMINGS.leaseMs + LEASE_TIMINGS.marginMs + 600_000
    const { ask } = generationOf(['removed', 'a'], { removed: REMOVED_AGO_MS })
    expect(ask(0, NOW_MS - REMOVED_AGO_MS + lastsMs - 1, 'concurrent').isOpen).toBe(false)
    expect(ask(0, NOW_MS - REMOVED_AGO_MS + lastsMs, 'concurrent').isOpen).toBe(true)
  })

  it('tells others when its window ends, once nodes that run have reported', () => {
    const { ask } = generationOf(['removed', 'a'], { removed: REMOVED_AGO_MS })
    expect(ask(0).opensInMs).toBeUndefined()
    const laterMs = NOW_MS + LEASE_TIMINGS.leaseMs
    expect(ask(0, laterMs)).toMatchObject({ isOpen: false, opensInMs: HOUR_MS - laterMs })
    expect(ask(0, laterMs, 'concurrent')).toMatchObject({ isOpen: false, opensInMs: LEASE_TIMINGS.marginMs })
  })
})
