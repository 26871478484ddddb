import { expect, it } from 'vitest'
import type { Problem } from '../../../../src/foundation/domain/problem.ts'
import { unpackDocument } from '../../../../src/boundary/plan/packed-plan.ts'
import { compileAccepted, readDocument } from '../../../../src/control/publishing/read-document.ts'
import { NOW_MS, OFFERED, orders } from '../../../fixtures/test-catalogue.ts'

const previous = (bytes: Buffer, api = 'orders-v1') => ({ bytes, api, nowMs: NOW_MS, ruleset: undefined })

it('returns the facts of a document, and its compiled form', async () => {
  const { compiled, ...facts } = await readDocument({ bytes: orders(), previous: null })
  expect(facts).toEqual({
    technicalName: 'orders-v1',
    countsUnits: false,
    publicWrites: [],
    title: 'Orders',
    version: '1.2.3',
    major: 1,
    mediaType: 'application/json',
    serverUrl: 'https://orders.example/base',
    operationIds: ['listOrders', 'createOrder'],
    declaredScopes: ['orders:audit', 'orders:read', 'orders:write'],
    previous: null,
    converted: null,
  })
  expect((await unpackDocument(compiled)).operations.map(({ operationId }) => operationId)).toEqual(facts.operationIds)
})

it('keeps the minimum read rate that a document sets', async () => {
  const bytes = Buffer.from(
    JSON.stringify({ ...JSON.parse(orders().toString()), 'x-tollgate-min-read-bytes-per-second': 7 }),
  )
  expect(await unpackDocument((await readDocument({ bytes, previous: null })).compiled)).toMatchObject({
    readBytesPerSecondMin: 7,
  })
})

it('compares with the active document of the same API only', async () => {
  const bytes = orders({ operations: { listOrders: OFFERED.listOrders }, servers: [] })
  const same = await readDocument({ bytes, previous: previous(orders()) })
  expect(same.previous).toMatchObject({
    serverUrl: 'https://orders.example/base',
    breaking: 1,
    changes: [{ id: 'operation.removed' }],
  })
  expect((await readDocument({ bytes, previous: previous(orders(), 'others-v1') })).previous).toBeNull()
})

it('compiles a document with faults only if an earlier version accepted it', async () => {
  const bytes = orders({ operations: { listOrders: [{ unknown: [] }] } })
  await expect(readDocument({ bytes, previous: null })).rejects.toMatchObject({ code: 'specification_invalid' })
  expect((await unpackDocument(await compileAccepted({ bytes, hasProse: false }))).operations).toHaveLength(1)
})

it('serves a document that an earlier version accepted although its form is a fault now', async () => {
  const { paths, ...rest } = JSON.parse(orders().toString()) as { paths: object }
  const [item] = Object.values(paths) as object[]
  const bytes = Buffer.from(
    JSON.stringify({ ...rest, paths: { ...paths, '/a%2Fb': { trace: Object.values(item!)[0] } } }),
  )
  await expect(readDocument({ bytes, previous: null })).rejects.toMatchObject({ code: 'specification_invalid' })
  expect((await unpackDocument(await compileAccepted({ bytes, hasProse: false }))).operations.length).toBeGreaterThan(1)
  await expect(compileAccepted({ bytes: Buffer.from('{"openapi": "3.1.0"}'), hasProse: false })).rejects.toMatchObject({
    code: 'specification_invalid',
  })
})

it('reports the faults of the form and those of serving at once', async () => {
  const document = JSON.parse(orders({ operations: { listOrders: [{ unknown: [] }] } }).toString()) as { paths: object }
  const bytes = Buffer.from(JSON.stringify({ ...document, servers: {} }))
  const { errors } = (await readDocument({ bytes, previous: null }).catch((cause: unknown) => cause)) as Problem
  expect(errors.map(({ pointer }) => pointer)).toEqual(['/servers', expect.stringMatching(/security\/0\/unknown$/)])
})
