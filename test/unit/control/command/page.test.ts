import { describe, expect, it, onTestFinished } from 'vitest'
import { listFiltered, listPage, pageOf, toCursor, type Page } from '../../../../src/control/command/page.ts'
import { documentKind } from '../../../../src/storage/store/registry.ts'
import { openSqliteRegistry } from '../../../../src/storage/store/sqlite/registry.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { ACME, openTestCatalogue, RIVAL } from '../../../fixtures/test-catalogue.ts'

describe('a list', () => {
  it('returns each item once, page by page, and no cursor on the last page', async () => {
    const { consumers } = openTestCatalogue()
    const made: string[] = []
    for (let number = 0; number < 7; number++) {
      const author = number === 3 ? RIVAL : ACME
      const { id } = await consumers.create(author, {
        name: `n${number}`,
        kind: number % 2 === 0 ? 'agent' : 'application',
      })
      if (author === ACME) made.push(id)
    }
    for (const limit of [1, 2, 3, 6, 500]) {
      const found: string[] = []
      let cursor: string | null = null
      do {
        const page = await consumers.list('acme', { limit, ...(cursor !== null && { cursor }) })
        found.push(...page.items.map(({ id }) => id))
        expect(page.items.length).toBeLessThanOrEqual(limit)
        cursor = page.next
      } while (cursor !== null)
      expect(found).toEqual(made)
    }
    const agents = await consumers.list('acme', { limit: 9, kind: 'agent' })
    expect(agents.items.map(({ name }) => name)).toEqual(['n0', 'n2', 'n4', 'n6'])
  })

  it('returns nothing of another tenant, even with its cursor', async () => {
    const { consumers } = openTestCatalogue()
    for (const name of ['a', 'b', 'c']) await consumers.create(ACME, { name, kind: 'agent' })
    const { next } = await consumers.list('acme', { limit: 1 })

    expect(await consumers.list('rival', { limit: 9, cursor: next ?? '' })).toEqual({ items: [], next: null })
  })

  it.each(['', 'x', '!', 'A'.repeat(9_000), Buffer.from('2 con_1').toString('base64url')])(
    'refuses the cursor %j that it did not hand out',
    async (cursor) => {
      const { consumers } = openTestCatalogue()
      const listed = consumers.list('acme', { limit: 9, cursor })
      await expect(listed).rejects.toMatchObject({ status: 400, code: 'cursor_invalid' })
    },
  )
})

describe('a list with a prefix', () => {
  const KIND = documentKind<object>('prefixed', 'hidden')
  const NAMES = ['a-v1', 'orders', 'orders-', 'orders-v1', 'orders-v2', 'orders0-v1', 'orderz-v1', 'ordes-v1', 'z-v1']

  async function openList() {
    const registry = openSqliteRegistry({ path: ':memory:', clock: createFakeClock(0) })
    onTestFinished(() => registry.close())
    const writes = NAMES.map((id) => ({ kind: KIND, id, tenant: 'acme', expected: 0, body: {} }))
    await registry.commit({ tenant: 'acme', consumer: 'system' }, 'test', writes)
    const options = { registry, kind: KIND, tenant: 'acme', show: ({ id }: { readonly id: string }) => id }
    return async (prefix: string, limit = 500, start?: string) => {
      const lists = [listPage, listFiltered] as const
      const found = lists.map(async (list) => {
        const all: string[] = []
        for (let cursor = start; ;) {
          const query = { limit, ...(cursor !== undefined && { cursor }) }
          const page = await list({ ...options, query, prefix, isShown: async () => true })
          expect(page.items.length).toBeLessThanOrEqual(limit)
          all.push(...page.items)
          if (page.next === null) return all
          cursor = page.next
        }
      })
      const [plain, filtered] = await Promise.all(found)
      expect(filtered).toEqual(plain)
      return plain
    }
  }

  it('returns what begins with it, page by page', async () => {
    const list = await openList()
    for (const limit of [1, 2, 3, 500]) {
      for (const prefix of [
        '',
        'a',
        'o',
        'order',
        'orders',
        'orders-',
        'orders-v',
        'orders-v2',
        'orders-v3',
        'zz',
        '-',
      ])
        expect({ prefix, found: await list(prefix, limit) }).toEqual({
          prefix,
          found: NAMES.filter((name) => name.startsWith(prefix)),
        })
    }
  })

  it('returns nothing else with the cursor of another list', async () => {
    const list = await openList()
    expect(await list('orders-v', 500, toCursor('a-v1'))).toEqual(['orders-v1', 'orders-v2'])
    expect(await list('orders-v', 500, toCursor('orders-v1'))).toEqual(['orders-v2'])
  })
})

describe('a consumer', () => {
  it('is returned as it was created, to its tenant only', async () => {
    const { consumers } = openTestCatalogue()
    const made = await consumers.create(ACME, { name: 'Shop', kind: 'application', contact: 'shop@example.org' })

    expect(made).toEqual({
      id: expect.stringMatching(/^con_/) as string,
      name: 'Shop',
      kind: 'application',
      contact: 'shop@example.org',
      exposure: 'Public',
      state: 'Active',
      labels: {},
      createdAt: '2027-01-15T12:00:00.000Z',
    })
    expect(await consumers.get('acme', made.id)).toEqual(made)
    await expect(consumers.get('rival', made.id)).rejects.toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('a page of a list in memory', () => {
  const all = Array.from({ length: 120 }, (_, index) => index)

  it('contains each item once over all pages, with no cursor on the last page', () => {
    for (const limit of [1, 7, 60, 120, 500]) {
      const found: number[] = []
      let cursor: string | null = null
      do {
        const page: Page<number> = pageOf(all, { limit, ...(cursor !== null && { cursor }) })
        found.push(...page.items)
        cursor = page.next
      } while (cursor !== null)
      expect(found).toEqual(all)
    }
    expect(pageOf([], { limit: 1 })).toEqual({ items: [], next: null })
  })

  it('is empty after the end, and refuses the cursor of another kind of list', () => {
    const { next } = pageOf(all, { limit: 100 })
    expect(pageOf(all.slice(0, 50), { limit: 100, cursor: next ?? '' })).toEqual({ items: [], next: null })
    for (const cursor of [toCursor('con_1'), toCursor('-1'), 'AAAA']) {
      expect(() => pageOf(all, { limit: 1, cursor })).toThrow(
        'The cursor must be the `next` of the previous page, unchanged.',
      )
    }
  })
})
