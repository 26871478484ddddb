import { describe, expect, it } from 'vitest'
import { grant } from '../../../../src/boundary/leases/grantor.ts'
import { createGrantorState } from '../../../../src/boundary/leases/grantor-state.ts'
import type { LeaseReply } from '../../../../src/boundary/leases/lease-messages.ts'
import { LEASE_TIMINGS } from '../../../../src/boundary/leases/lease-timings.ts'

const HOUR_MS = 3_600_000
const { heartbeatMs, keepMs, silentMs } = LEASE_TIMINGS

/** A grantor with a clock, and nodes that report nothing but that they are there. */
function openGrantor() {
  const state = createGrantorState()
  let nowMs = 10 * HOUR_MS
  let sequence = 0
  let epoch = 0
  const send = (message: Parameters<typeof grant>[1]): LeaseReply =>
    grant(state, message, { nowMs, runId: 'run' }, LEASE_TIMINGS)
  return {
    begin(members: readonly string[]): void {
      const isFirst = ++epoch === 1
      const reply = send({ type: 'open', epoch, runId: 'run', isFirst, members, notAfterMs: nowMs })
      expect(reply).toMatchObject({ epoch, isOpener: true })
    },
    /** Passes time in which `node` sends its requests. */
    report(node: string, forMs = 0): void {
      const bounds = { notBeforeMs: 0, notAfterMs: Infinity }
      for (const untilMs = nowMs + forMs; nowMs <= untilMs; nowMs += heartbeatMs) {
        const isSynced = true
        send({ type: 'request', node, session: 1, sequence: ++sequence, epoch, isSynced, ...bounds, items: [] })
      }
    },
    /** Asks for a slot each under a limit, and returns how many are free afterwards. */
    ask(node: string, value: number, version: number): number {
      const budget = { kind: 'concurrent', value, version, callMsMax: 0 } as const
      const item = { key: 'slots', budget, held: 0, used: 0, want: 1 }
      const bounds = { notBeforeMs: 0, notAfterMs: Infinity }
      const reply = send({
        ...{ type: 'request', node, session: 1, sequence: ++sequence, epoch, isSynced: true, ...bounds },
        items: [item],
      })
      return reply.type === 'granted' ? reply.grants[0]!.free + 1 : 0
    },
    setClock(stepMs: number): void {
      nowMs += stepMs
    },
    get waiting(): readonly string[] {
      return Object.keys(state.generation!.waiting).sort()
    },
    get isReady(): boolean {
      return state.generation!.readyMs > 0
    },
  }
}

/** Of two nodes that have reported, b reports no more. */
function openWithSilentNode() {
  const grantor = openGrantor()
  grantor.begin(['a', 'b'])
  grantor.report('b')
  return grantor
}

describe('The newest version of a limit', () => {
  it('holds for nodes that have an earlier one', () => {
    const grantor = openGrantor()
    grantor.begin([])
    expect(grantor.ask('a', 5, 2)).toBe(5)
    expect(grantor.ask('a', 9, 1)).toBe(5)
  })

  it('is forgotten if no node has it any more: the registry was restored to a point before it', () => {
    const grantor = openGrantor()
    grantor.begin([])
    grantor.ask('a', 5, 2)
    grantor.setClock(keepMs - 1)
    grantor.ask('a', 5, 2)
    grantor.setClock(keepMs - 1)
    expect(grantor.ask('a', 9, 1)).toBe(5)
    grantor.setClock(1)
    expect(grantor.ask('a', 9, 1)).toBe(9)
  })
})

describe('A new generation', () => {
  it.each([
    ['is no longer a member', ['a']],
    ['is still in the list', ['a', 'b']],
  ])('does not wait for a node that was silent until all that it held had ended, and %s', (_, members) => {
    const grantor = openWithSilentNode()
    grantor.report('a', silentMs!)
    grantor.begin(members)
    expect(grantor.waiting).toEqual(['a'])
    grantor.report('a')
    expect(grantor.isReady).toBe(true)
  })

  it('waits for a node that may hold leases, though the list lacks it', () => {
    const grantor = openWithSilentNode()
    grantor.report('a', HOUR_MS)
    grantor.begin(['a'])
    grantor.report('a')
    expect(grantor.waiting).toEqual(['b'])
    expect(grantor.isReady).toBe(false)
  })

  it('waits for a node of which only the clock says that it was silent for long', () => {
    const grantor = openWithSilentNode()
    for (let time = 0; time < 3; time++) {
      grantor.report('a')
      grantor.setClock(3 * HOUR_MS)
      grantor.report('a')
      grantor.setClock(-3 * HOUR_MS)
    }
    grantor.setClock(3 * HOUR_MS)
    grantor.begin(['a'])
    expect(grantor.waiting).toEqual(['a', 'b'])
  })

  it('waits for whom the one before waited, until they were silent for long over both', () => {
    const grantor = openWithSilentNode()
    grantor.report('a', HOUR_MS)
    grantor.begin(['a'])
    grantor.report('a', HOUR_MS / 2)
    grantor.begin(['a'])
    expect(grantor.waiting).toEqual(['a', 'b'])
    grantor.report('a', HOUR_MS / 2)
    grantor.begin(['a'])
    expect(grantor.waiting).toEqual(['a'])
  })
})
