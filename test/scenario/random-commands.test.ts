/**
 * Runs random commands of several clients against the catalogue and against a simple model, and compares results and states,
 * also after restarts. A failing run reports its seed and step.
 *
 *   MODEL_STEPS=50000 SEED=7 npx vitest run test/scenario/random-commands.test.ts
 */

import { expect, it } from 'vitest'
import type { Author } from '../../src/storage/store/registry.ts'
import { createRandom, type Random } from '../random.ts'
import { readSeed } from '../random-seed.ts'
import { base64, publishApi, openTestCatalogue, orders, type TestCatalogue } from '../fixtures/test-catalogue.ts'
import { Model, outcomeOf, pick, type ModelApi, type ModelSubscription } from './command-model.ts'

const STEPS = Number(process.env['MODEL_STEPS'] ?? 5_000)
const SEED = readSeed(20_270_115)
const RESTART_EVERY = 250
const COMPARE_EVERY = 100

const CLIENTS: readonly Author[] = ['con_a', 'con_b', 'con_c'].map((consumer) => ({ tenant: 'acme', consumer }))
const STRANGER: Author = { tenant: 'rival', consumer: 'con_x' }
const TITLES = ['Orders', 'Parcels', 'Returns']
const SCOPES = ['orders:audit', 'orders:read', 'orders:write']

const documents = new Map(TITLES.map((title) => [`${title.toLowerCase()}-v1`, base64(orders({ title }))]))

async function stage(catalogue: TestCatalogue, model: Model, author: Author, name: string): Promise<void> {
  const api = model.apis.get(name)
  let proxy = api?.proxy ?? ''
  const work = catalogue.proxies
    .stage(author, { api: name, specification: documents.get(name) ?? '' })
    .then((shown) => {
      proxy = shown.id
    })
  const expected =
    api !== undefined && author.tenant === 'rival' ? 'name_taken' : api?.state === 'Retired' ? 'state_conflict' : 'done'
  expect(await outcomeOf(work)).toBe(expected)
  if (expected !== 'done') return
  const before = api ?? { name, proxy, state: 'Prospect' as const, next: 1, staging: null, active: null }
  model.apis.set(name, { ...before, staging: before.next, next: before.next + 1 })
}

async function activateOrDiscard(
  catalogue: TestCatalogue,
  model: Model,
  author: Author,
  verb: 'activate' | 'discard',
  name: string,
) {
  const api = model.apis.get(name)
  if (api === undefined) return
  const isMine = author.tenant === 'acme'
  const expected = !isMine
    ? 'not_found'
    : api.staging === null
      ? 'no_staging_revision'
      : verb === 'activate' && api.state === 'Retired'
        ? 'state_conflict'
        : 'done'
  expect(await outcomeOf(catalogue.proxies[verb](author, api.proxy))).toBe(expected)
  if (expected !== 'done') return
  if (verb === 'activate') {
    api.active = api.staging
    if (api.state === 'Prospect') api.state = 'Active'
  }
  api.staging = null
}

async function saveProduct(catalogue: TestCatalogue, model: Model, author: Author, random: Random) {
  const apis = [...model.apis.keys()].filter(() => random.next() < 0.5)
  const id = pick(random, [...model.products.keys()])
  if (id === undefined || random.next() < 0.1) {
    if (author.tenant === 'rival') return
    const made = await catalogue.products.create(author, { name: 'Bundle', apis })
    model.products.set(made.id, apis)
    return
  }
  const expected = author.tenant === 'rival' ? 'not_found' : 'done'
  expect(await outcomeOf(catalogue.products.replace(author, id, { name: 'Bundle', apis }))).toBe(expected)
  if (expected === 'done') model.products.set(id, apis)
}

async function removeProduct(catalogue: TestCatalogue, model: Model, author: Author, random: Random) {
  const id = pick(random, [...model.products.keys()])
  if (id === undefined) return
  const expected = author.tenant === 'rival' ? 'not_found' : model.isSubscribed(id) ? 'subscriptions_active' : 'done'
  expect(await outcomeOf(catalogue.products.remove(author, id))).toBe(expected)
  if (expected === 'done') model.products.delete(id)
}

async function toggleConsumer(catalogue: TestCatalogue, model: Model, author: Author, consumer: string) {
  const verb = model.isConsumerDisabled ? 'enable' : 'disable'
  const expected = author.tenant === 'rival' ? 'not_found' : 'done'
  expect(await outcomeOf(catalogue.consumers[verb](author, consumer))).toBe(expected)
  if (expected === 'done') model.isConsumerDisabled = verb === 'disable'
}

async function subscribe(catalogue: TestCatalogue, model: Model, author: Author, random: Random, consumer: string) {
  const product = random.next() < 0.3 ? pick(random, [...model.products.keys()]) : undefined
  const api = product === undefined ? pick(random, [...documents.keys()]) : undefined
  const to = product === undefined ? { api: api ?? '' } : { product }
  const members = product === undefined ? [api ?? ''] : model.membersOf(product)
  const entries = members.map((name) => model.apis.get(name))
  const isOffered = entries.every((entry) => entry !== undefined && (entry.active !== null || entry.staging !== null))
  const isRetired = entries.some((entry) => entry?.state === 'Retired')
  // The error is that of the first member that refuses.
  const firstBad = entries.find(
    (entry) => entry === undefined || entry.state === 'Retired' || (entry.active ?? entry.staging) === null,
  )
  const isDeprecated = entries.some((entry) => entry?.state === 'Deprecated')
  const force = random.next() < 0.7
  let id = ''
  const work = catalogue.subscriptions.create(author, { consumer, ...to, force }).then((made) => {
    id = made.id
  })
  const expected =
    author.tenant === 'rival'
      ? 'payload_invalid'
      : model.isConsumerDisabled
        ? 'state_conflict'
        : isOffered && !isRetired
          ? isDeprecated && !force
            ? 'state_conflict'
            : 'done'
          : firstBad?.state === 'Retired'
            ? 'state_conflict'
            : 'payload_invalid'
  expect(await outcomeOf(work)).toBe(expected)
  if (expected !== 'done') return
  const { items } = await catalogue.credentials.read(author, id)
  model.subscriptions.set(id, {
    id,
    api: api ?? '',
    product: product ?? '',
    state: 'Active',
    scopes: members.length === 0 ? [] : SCOPES,
    credentials: new Map(items.map((each) => [each.id, true])),
  })
}

const NEXT = {
  cancel: { Active: 'Cancelled', Suspended: 'Cancelled' },
  suspend: { Active: 'Suspended' },
  resume: { Suspended: 'Active' },
} as const satisfies Record<string, Partial<Record<ModelSubscription['state'], ModelSubscription['state']>>>

async function changeState(catalogue: TestCatalogue, model: Model, author: Author, random: Random) {
  const subscription = pick(random, [...model.subscriptions.values()])
  const verb = pick(random, ['cancel', 'suspend', 'suspend', 'resume', 'resume'] as const)
  if (subscription === undefined || verb === undefined) return
  const to = (NEXT[verb] as Partial<Record<string, ModelSubscription['state']>>)[subscription.state]
  const expected = author.tenant === 'rival' ? 'not_found' : to === undefined ? 'state_conflict' : 'done'
  expect(await outcomeOf(catalogue.subscriptions[verb](author, subscription.id))).toBe(expected)
  if (expected === 'done' && to !== undefined) subscription.state = to
}

async function setScopes(catalogue: TestCatalogue, model: Model, author: Author, random: Random) {
  const subscription = pick(random, [...model.subscriptions.values()])
  if (subscription === undefined || subscription.api === '') return
  const scopes = SCOPES.filter(() => random.next() < 0.6)
  const api = model.apis.get(subscription.api)
  const isLess = scopes.every((scope) => subscription.scopes.includes(scope))
  const isBare = (api?.active ?? api?.staging ?? null) === null
  const expected =
    author.tenant === 'rival'
      ? 'not_found'
      : subscription.state === 'Cancelled' || (!isLess && api?.state === 'Retired')
        ? 'state_conflict'
        : !isLess && isBare
          ? 'payload_invalid'
          : 'done'
  expect(await outcomeOf(catalogue.subscriptions.setScopes(author, subscription.id, scopes))).toBe(expected)
  if (expected === 'done') subscription.scopes = scopes
}

async function revoke(catalogue: TestCatalogue, model: Model, author: Author, random: Random) {
  const subscription = pick(random, [...model.subscriptions.values()])
  const credential = pick(random, [...(subscription?.credentials.keys() ?? [])])
  if (subscription === undefined || credential === undefined) return
  const expected = author.tenant === 'rival' ? 'not_found' : 'done'
  expect(await outcomeOf(catalogue.credentials.revoke(author, subscription.id, credential))).toBe(expected)
  if (expected === 'done') subscription.credentials.set(credential, false)
}

async function retire(catalogue: TestCatalogue, model: Model, author: Author, random: Random) {
  const api = pick(random, [...model.apis.values()])
  if (api === undefined) return
  const isMine = author.tenant === 'acme'
  if (api.state !== 'Deprecated') {
    const expected = !isMine ? 'not_found' : api.state === 'Active' ? 'done' : 'state_conflict'
    const input = { retirementDate: '2099-01-01T00:00:00Z' }
    expect(await outcomeOf(catalogue.retirement.deprecate(author, api.name, input))).toBe(expected)
    if (expected === 'done') api.state = 'Deprecated'
    return
  }
  const isForced = random.next() < 0.1
  const isFree = isForced || model.activeAt(api.name).length === 0
  const expected = !isMine ? 'not_found' : isFree ? 'done' : 'subscriptions_active'
  expect(await outcomeOf(catalogue.retirement.retire(author, api.name, isForced))).toBe(expected)
  if (expected === 'done') api.state = 'Retired'
}

async function all<T>(
  list: (query: { limit: number; cursor?: string }) => Promise<{ items: readonly T[]; next: string | null }>,
) {
  const items: T[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await list({ limit: 50, ...(cursor !== '' && { cursor }) })
    items.push(...page.items)
    cursor = page.next
  }
  return items
}

async function compare(catalogue: TestCatalogue, model: Model): Promise<void> {
  const apis = await all((query) => catalogue.apis.list('acme', query))
  expect(apis.map(({ id, state }) => ({ id, state }))).toEqual(
    [...model.apis.values()].map(({ name: id, state }) => ({ id, state })).sort((a, b) => (a.id < b.id ? -1 : 1)),
  )
  for (const proxy of await all((query) => catalogue.proxies.list('acme', query))) {
    const { staging, active } = model.apis.get(proxy.api)!
    const products = [...model.products].filter(([, members]) => members.includes(proxy.api)).map(([id]) => id)
    expect(proxy).toMatchObject({ stagingRevision: staging, activeRevision: active })
    expect(proxy.MemberOfProductIds.toSorted()).toEqual(products.sort())
  }
  const subscriptions = await all((query) => catalogue.subscriptions.list('acme', query))
  expect(subscriptions.map(({ id, state, scopes }) => ({ id, state, scopes: scopes.toSorted() }))).toEqual(
    [...model.subscriptions.values()].map(({ id, state, scopes }) => ({ id, state, scopes: scopes.toSorted() })),
  )
  for (const { id, state, credentials } of [...model.subscriptions.values()].slice(-20)) {
    for (const credential of (await catalogue.credentials.of('acme', id)).filter(({ body }) => body.clientId !== '')) {
      const client = await catalogue.grants.clientFor(credential.body.clientId)
      const valid = credentials.get(credential.id) === true && state !== 'Cancelled'
      expect(client?.grant).toMatchObject({ valid, active: state === 'Active' && !model.isConsumerDisabled })
    }
  }
  expect(await all((query) => catalogue.subscriptions.list('rival', query))).toEqual([])
}

it(`finds no difference between the catalogue and a model of it in ${STEPS} steps (seed ${SEED})`, async () => {
  const random = createRandom(SEED)
  const model = new Model()
  let catalogue = openTestCatalogue()
  const { proxy, consumer } = await publishApi(catalogue)
  const seeded: ModelApi = { name: 'orders-v1', proxy, state: 'Active', next: 2, staging: null, active: 1 }
  model.apis.set(seeded.name, seeded)

  for (let step = 1; step <= STEPS; step++) {
    catalogue.clock.nowMs += 1_000
    const author = random.next() < 0.1 ? STRANGER : pick(random, CLIENTS)!
    const name = pick(random, [...documents.keys()])!
    const dice = random.next()
    try {
      if (dice < 0.02 && (author.tenant === 'acme' || model.apis.has(name))) await stage(catalogue, model, author, name)
      else if (dice < 0.08)
        await activateOrDiscard(catalogue, model, author, random.next() < 0.6 ? 'activate' : 'discard', name)
      else if (dice < 0.15) await saveProduct(catalogue, model, author, random)
      else if (dice < 0.16) await removeProduct(catalogue, model, author, random)
      else if (dice < 0.3) await subscribe(catalogue, model, author, random, consumer)
      else if (dice < 0.303) await toggleConsumer(catalogue, model, author, consumer)
      else if (dice < 0.65) await changeState(catalogue, model, author, random)
      else if (dice < 0.8) await setScopes(catalogue, model, author, random)
      else if (dice < 0.998) await revoke(catalogue, model, author, random)
      else await retire(catalogue, model, author, random)
      if (step % RESTART_EVERY === 0) catalogue = catalogue.restart()
      if (step % COMPARE_EVERY === 0) await compare(catalogue, model)
    } catch (cause) {
      throw new Error(`seed ${SEED}, step ${step}: ${String(cause)}`, { cause })
    }
  }
  await compare(catalogue, model)
  expect(new Set([...model.subscriptions.values()].map(({ state }) => state)).size).toBe(3)
})
