/** The revisions of a thread that starts: those of small documents sleep until the first call of their API. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { CompiledRevision } from '../../../../src/gateway/call/revision.ts'
import { createLimiter } from '../../../../src/gateway/limits/limiter.ts'
import { createServedRevisions } from '../../../../src/gateway/threads/served-revisions.ts'
import { packDocument, type PackedPlan } from '../../../../src/plan/packed-plan.ts'
import type { OperationPlan } from '../../../../src/plan/route-plan.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
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

function open() {
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
    ...{ limiter, settings, clock: systemClock, isBusy: () => false },
    gates: { of: () => ({}) as never },
    onWithheld: (api) => withheld.push(api),
  })
  return { revisions, withheld, compiled }
}

async function awake({ revisions }: Pick<ReturnType<typeof open>, 'revisions'>): Promise<CompiledRevision | undefined> {
  expect(revisions.of(API)).toBeUndefined()
  await revisions.wake(API)
  return revisions.of(API)
}

describe('a revision of a small document', () => {
  it('is compiled at the first call of its API, once', async () => {
    const { revisions, compiled } = open()
    await revisions.restore([{ plan: small, slas: [declare(5)] }])
    expect(revisions.planOf(API)).toMatchObject({ tenant: 'acme', allowedScopes: ['orders:read'] })
    expect(compiled).toEqual([])

    const first = revisions.wake(API)
    expect(revisions.wake(API)).toBe(first)
    await first
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
