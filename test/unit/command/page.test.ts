import { describe, expect, it } from 'vitest'
import { pageOf, toCursor, type Page } from '../../../src/command/page.ts'
import { ACME, openTestCatalogue, RIVAL } from '../../fixtures/test-catalogue.ts'

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
