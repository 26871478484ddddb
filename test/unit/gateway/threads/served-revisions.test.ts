/** The revisions of a thread that starts: those of small documents sleep until the first call of their API. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createUpstreamGates } from '../../../../src/gateway/backend/upstream-gates.ts'
import type { CompiledRevision } from '../../../../src/gateway/call/revision.ts'
import { createLimiter } from '../../../../src/limits/limiter.ts'
import { createServedRevisions, type ServedRevisionsOptions } from '../../../../src/gateway/threads/served-revisions.ts'
import { packDocument, type PackedPlan } from '../../../../src/boundary/plan/packed-plan.ts'
import type { OperationPlan } from '../../../../src/boundary/plan/route-plan.ts'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { planOf } from '../../../fixtures/test-limits.ts'

const API = 'orders-v1'
const UNPACKED_MAX = 16 * 1024

const declare = (minute: number, variant = '') => ({
  ...planOf({ limits: [{ name: 'a', totals: { minute } }] }),
  api: API,
  variant,
})

function packed(schema: object, description = '', revision = 1): PackedPlan {
  const operation = {
    operationId: 'list',
    method: 'GET',
    path: '/orders',
    security: [],
    parameters: [{ in: 'query', name: 'q', required: false, schema, style: 'form', explode: true }],
    body: null,
    responses: [],
  } as unknown as OperationPlan
  const components = { schemas: { Long: { description } } }
  return {
    api: API,
    tenant: 'acme',
    revision,
    state: 'Active',
    backend: null,
    allowedScopes: ['orders:read'],
    memberOfProductIds: ['prd_1'],
    document: packDocument({
      ...{ dialect: '3.1', components, responses: [], responseComponents: {} },
      operations: [operation],
    }),
  }
}

const TEXT = { type: 'string', maxLength: 3 }
/** No engine matches it in linear time, so no thread compiles it. */
const BACKTRACKING = { type: 'string', pattern: '^(?=a)a$' }
const small = packed(TEXT)
const large = packed(TEXT, 'a'.repeat(UNPACKED_MAX))

function open(options: Partial<ServedRevisionsOptions> = {}) {
  const withheld: string[] = []
  const compiled: string[] = []
  const inner = createLimiter({ thread: 0, threads: 1 })
  const limiter: typeof inner = {
    ...inner,
    compile(sla, operationIds) {
      compiled.push(sla.variant)
      return inner.compile(sla, operationIds)
    },
  }
  const settings = { threads: 1, gatewayUrl: 'https://gateway.example', connect: (_: unknown, base: object) => base }
  const revisions = createServedRevisions({
    ...{ limiter, settings, clock: systemClock, callsInFlight: () => 0 },
    gates: { of: () => ({}) as never, drop: () => {} },
    onWithheld: (api) => withheld.push(api),
    ...options,
  })
  return { revisions, withheld, compiled }
}

async function awake({ revisions }: Pick<ReturnType<typeof open>, 'revisions'>): Promise<CompiledRevision | undefined> {
  expect(revisions.of(API)).toBeUndefined()
  await revisions.wake(API)
  return revisions.of(API)
}

describe('the gates of a thread', () => {
  const withTargets = (...names: readonly string[]): PackedPlan => {
    const targets = names.map((name) => ({ origin: `http://${name}`, basePath: '' }))
    return { ...small, backend: { ...targets[0]!, timeoutMs: 1_000, mayBePrivate: true, targets } }
  }

  it('are shared by revisions with the same targets, and forgotten with the last one', async () => {
    const gates = createUpstreamGates({ clock: createFakeClock(0), send: () => {} })
    const { revisions } = open({ gates })
    const swap = async (id: number, ...names: readonly string[]) => {
      await revisions.prepare(id, withTargets(...names), [])
      revisions.swap(id, [])
      return revisions.of(API)!.backend!.backends.map(({ gate }) => gate)
    }
    const [a, b] = await swap(1, 'a', 'b')
    expect(gates.of(`${API} http://a`)).toBe(a)
    const [c, again] = await swap(2, 'c', 'a')
    expect([again === a, c === b]).toEqual([true, false])
    expect(gates.of(`${API} http://b`)).not.toBe(b)
    revisions.withdraw(API)
    expect(gates.of(`${API} http://a`)).not.toBe(a)
    expect(gates.of(`${API} http://c`)).not.toBe(c)
  })
})

it('the only API of a thread is the one that it serves beside that of the platform, unless there is another one', async () => {
  const { revisions } = open()
  await revisions.restore([{ plan: { ...small, api: 'platform-v1' }, slas: [] }])
  expect(revisions.only()).toBeNull()
  const serve = async (id: number, plan: PackedPlan): Promise<void> => {
    await revisions.prepare(id, plan, [])
    revisions.swap(id, [])
  }
  await serve(1, small)
  expect(revisions.only()).toBe(revisions.of(API))
  await serve(2, { ...small, api: 'parcels-v1' })
  expect(revisions.only()).toBeNull()
  revisions.withdraw('parcels-v1')
  expect(revisions.only()).toBe(revisions.of(API))
})

describe('a revision of a small document', () => {
  it('is compiled at the first call of its API, once', async () => {
    const { revisions, compiled } = open()
    await revisions.restore([{ plan: small, slas: [declare(5)] }])
    expect(revisions.planOf(API)).toMatchObject({ tenant: 'acme', allowedScopes: ['orders:read'] })
    expect(compiled).toEqual([])

    await Promise.all([revisions.wake(API), revisions.wake(API)])
    const revision = revisions.of(API)
    expect(revision?.operations[0]?.validators.parameters).not.toBeNull()
    expect(revisions.wake(API)).toBeNull()
    expect(compiled).toEqual([''])
    expect([revisions.wake('other-v1'), revisions.of('other-v1')]).toEqual([null, undefined])
  })

  it('wakes with the declarations and products that were set while it slept', async () => {
    const { revisions } = open()
    await revisions.restore([{ plan: small, slas: [declare(5), declare(7, 'gold')] }])
    revisions.setSla(declare(9))
    revisions.setSla(declare(11, 'silver'))
    revisions.setMembership(API, ['prd_2'])

    const revision = (await awake({ revisions }))!
    expect(revision.plan.memberOfProductIds).toEqual(['prd_2'])
    expect([...revision.slas.keys()].toSorted()).toEqual(['', 'gold', 'silver'])
    expect(revision.slas.get('')?.plan.limits).toEqual(declare(9).limits)
  })

  it('does not wake after its API was withdrawn, or after another revision was swapped in', async () => {
    const { revisions } = open()
    await revisions.restore([{ plan: small, slas: [] }])
    await revisions.prepare(1, packed(TEXT, '', 2), [])
    revisions.swap(1, [])
    expect(revisions.of(API)?.plan.revision).toBe(2)
    revisions.withdraw(API)
    expect(revisions.of(API)).toBeUndefined()

    await revisions.restore([{ plan: small, slas: [] }])
    revisions.withdraw(API)
    expect([revisions.wake(API), revisions.of(API), revisions.planOf(API)]).toEqual([null, undefined, undefined])
  })

  it('has what was set while it was compiled', async () => {
    const { revisions } = open()
    await revisions.restore([{ plan: small, slas: [declare(5)] }])
    const waking = revisions.wake(API)
    revisions.setSla(declare(9))
    revisions.setMembership(API, ['prd_2'])
    await waking
    const revision = revisions.of(API)!
    expect(revision.plan.memberOfProductIds).toEqual(['prd_2'])
    expect(revision.slas.get('')?.plan.limits).toEqual(declare(9).limits)
  })

  it('replaces nothing that came while it was compiled', async () => {
    const { revisions } = open()
    await revisions.prepare(1, packed(TEXT, '', 2), [])
    await revisions.restore([{ plan: small, slas: [] }])
    const waking = revisions.wake(API)
    revisions.swap(1, [])
    await waking
    expect(revisions.of(API)?.plan.revision).toBe(2)

    revisions.withdraw(API)
    await revisions.restore([{ plan: small, slas: [] }])
    const wakingAgain = revisions.wake(API)
    revisions.withdraw(API)
    await wakingAgain
    expect([revisions.wake(API), revisions.of(API)]).toEqual([null, undefined])
  })
})

/** Returns the number of the current turn of the event loop. */
function countTurns(): () => number {
  let turn = 0
  const next = (): void => {
    turn++
    setImmediate(next).unref()
  }
  setImmediate(next).unref()
  return () => turn
}

it('wakes revisions one after the other, and leaves each call a turn after every slice', async () => {
  const turn = countTurns()
  const turns: number[] = []
  let elapsedMs = 0
  const { revisions } = open({
    // Every step is a slice.
    elapsedMs: () => (elapsedMs += 2),
    gates: { of: () => ({}) as never, drop: () => {} },
  })
  const apis = Array.from({ length: 40 }, (_, number) => `orders${number}-v1`)
  await revisions.restore(apis.map((api) => ({ plan: { ...small, api }, slas: [] })))
  await Promise.all(apis.map((api) => revisions.wake(api)?.then(() => turns.push(turn()))))
  expect(new Set(turns).size).toBe(apis.length)
})

it('pauses for as long as it has worked while calls of other APIs are in flight, and not for those that wait', async () => {
  const pauses: number[] = []
  let inFlight = 2
  let elapsedMs = 0
  const { revisions } = open({
    callsInFlight: () => inFlight,
    elapsedMs: () => (elapsedMs += 2),
    clock: { after: (delayMs, task) => (pauses.push(delayMs), queueMicrotask(task), () => {}) },
  })
  await revisions.restore([
    { plan: small, slas: [] },
    { plan: { ...small, api: 'other-v1' }, slas: [] },
  ])
  await Promise.all([revisions.wake(API), revisions.wake(API)])
  expect(pauses).toEqual([])
  inFlight = 3
  await Promise.all([revisions.wake('other-v1'), revisions.wake('other-v1')])
  expect(pauses.length).toBeGreaterThan(0)
  expect(new Set(pauses)).toEqual(new Set([2]))
})

it('compiles a revision once, however often its declarations and products change meanwhile', async () => {
  let unpacked = 0
  const { revisions } = open({ elapsedMs: () => (unpacked++, 0) })
  await revisions.restore([{ plan: small, slas: [] }])
  await revisions.wake(API)
  const steps = unpacked
  await revisions.restore([{ plan: { ...small, api: 'other-v1' }, slas: [] }])
  const waking = revisions.wake('other-v1')
  let isAwake = false
  void waking?.then(() => (isAwake = true))
  for (let change = 0; !isAwake; change++) {
    revisions.setMembership('other-v1', [`prd_${change}`])
    await new Promise(setImmediate)
  }
  // Another compilation would have taken as many steps again.
  expect(unpacked - steps).toBeLessThan(2 * steps)
})

it('compiles a large document while the thread starts', async () => {
  const { revisions, compiled } = open()
  await revisions.restore([{ plan: large, slas: [declare(5)] }])
  expect(compiled).toEqual([''])
  expect(revisions.of(API)?.plan.state).toBe('Active')
})

it.each([
  ['a small document that cannot be compiled', packed(BACKTRACKING), []],
  ['a large document that cannot be compiled', packed(BACKTRACKING, 'a'.repeat(UNPACKED_MAX)), [API]],
  ['a document that is not compressed', { ...small, document: Buffer.from('torn') }, [API]],
  ['no document', { ...small, document: Buffer.alloc(0) }, []],
  ['a document that is longer than it states', { ...small, document: understated() }, []],
])('refuses the calls of an API with %s, and reports it once', async (_, plan, atStart) => {
  const { revisions, withheld } = open()
  await revisions.restore([{ plan, slas: [declare(5)] }])
  expect(withheld).toEqual(atStart)
  await revisions.wake(API)
  expect(revisions.of(API)?.plan).toMatchObject({ state: 'Withheld', tenant: 'acme' })
  expect(revisions.of(API)?.operations).toEqual([])
  expect(withheld).toEqual([API])
})

function understated(): Buffer {
  const document = gzipSync('a'.repeat(UNPACKED_MAX * 100))
  document.writeUInt32LE(5, document.length - 4)
  return document
}
