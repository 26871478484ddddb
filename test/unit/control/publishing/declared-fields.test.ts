/** The members of a declaration that are stored with it, so that a start does not read its text. */

import { expect, it } from 'vitest'
import { DECLARED_KIND, declaredWrites } from '../../../../src/control/publishing/declared-fields.ts'
import { CONTENT_KIND } from '../../../../src/control/publishing/published-content.ts'
import type { Document, Registry } from '../../../../src/storage/store/registry.ts'
import {
  ACME,
  base64,
  declaration,
  openCatalogueOn,
  openTestCatalogue,
  orders,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

async function publish(): Promise<TestCatalogue> {
  const catalogue = openTestCatalogue()
  const { id } = await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders({})) })
  await catalogue.proxies.activate(ACME, id)
  await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({})) })
  return catalogue
}

const storedIn = async (registry: Registry) => (await registry.list(DECLARED_KIND, { limit: 2 }))[0]
type Stored = NonNullable<Awaited<ReturnType<typeof storedIn>>>

async function replace(registry: Registry, { kind, id, tenant, revision }: Stored, body: Stored['body'] | null) {
  await registry.commit({ tenant, consumer: 'test' }, 'test', [{ kind, id, tenant, expected: revision, body }])
}

async function plansOf(catalogue: TestCatalogue) {
  return catalogue.restart().specifications.plansInForce(API, [])
}

async function readsContent(catalogue: TestCatalogue): Promise<boolean> {
  const kinds: string[] = []
  const { registry, vault, clock: time } = catalogue
  const get: Registry['get'] = (kind, id) => (kinds.push(kind), registry.get(kind, id))
  await openCatalogueOn({ registry: { ...registry, get }, vault, time }).specifications.plansInForce(API, [])
  return kinds.includes(CONTENT_KIND)
}

it('A start compiles the plan of the stored members, without the text', async () => {
  const catalogue = await publish()
  const [plan] = await plansOf(catalogue)
  expect(plan).toEqual(catalogue.gateway.slas.at(-1))
  expect(await readsContent(catalogue)).toBe(false)
})

it.each([
  ['are missing', () => null],
  ['were read by another version', ({ body }: Stored) => ({ ...body, reader: body.reader + 1, fields: '{}' })],
])('The text is read once if the members %s', async (_, change) => {
  const catalogue = await publish()
  const plans = await plansOf(catalogue)
  const stored = (await storedIn(catalogue.registry))!
  await replace(catalogue.registry, stored, change(stored))
  expect(await readsContent(catalogue)).toBe(true)
  expect(await plansOf(catalogue)).toEqual(plans)
  expect(await readsContent(catalogue)).toBe(false)
  expect((await storedIn(catalogue.registry))?.body).toEqual(stored.body)
})

it('Members of another tenant are neither used nor replaced', async () => {
  const catalogue = await publish()
  const plans = await plansOf(catalogue)
  const { registry } = catalogue
  const stored = (await storedIn(registry))!
  await replace(registry, stored, null)
  const { kind, id } = stored
  const body = { ...stored.body, fields: '{}' }
  await registry.commit({ tenant: 'globex', consumer: 'test' }, 'test', [
    { kind, id, tenant: 'globex', expected: 0, body },
  ])
  expect(await catalogue.specifications.plansInForce(API, [])).toEqual(plans)
  expect(((await storedIn(registry)) as Document).body).toEqual(body)
})

it.each([
  ['a number that JSON lacks', { limits: [], 'x-rate': Infinity }, 10],
  ['a negative zero', { limits: [], 'x-rate': -0 }, 10],
  ['more text than its bytes', { 'x-note': 'a'.repeat(300_000) }, 10],
  ['many bytes', { limits: [] }, 70_000],
])('Members with %s are not stored', (_, fields, size) => {
  expect(declaredWrites('sla_1', 'acme', { bytes: new Uint8Array(size), fields })).toEqual([])
  expect(declaredWrites('sla_1', 'acme', { bytes: new Uint8Array(10), fields: { limits: [] } })).toHaveLength(1)
})

it('Members that contain themselves, as aliases of YAML can, are not stored, and the declaration serves', async () => {
  const catalogue = await publish()
  const text = `${declaration({ variant: 'gold' })}x-self: &self\n  self: *self\n`
  await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(Buffer.from(text)) })
  expect((await plansOf(catalogue)).map(({ variant }) => variant)).toContain('gold')
  expect(await catalogue.registry.list(DECLARED_KIND, { limit: 3 })).toHaveLength(1)
})
