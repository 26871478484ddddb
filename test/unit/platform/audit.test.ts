import { describe, expect, it } from 'vitest'
import { furnish, openHouse, type House } from '../../fixtures/test-platform.ts'

type Entry = Readonly<Record<string, unknown>>

async function auditOf(house: House, query = '', token = house.token('acme')): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (let next: unknown = ''; next !== null;) {
    const path = `/v1/audit?limit=7${query}${next === '' ? '' : `&cursor=${String(next)}`}`
    const { status, body, text } = await house.send('GET', path, { token })
    expect(status, text).toBe(200)
    all.push(...(body['items'] as Entry[]))
    next = body['next']
  }
  return all
}

describe('the audit', () => {
  it('tells who changed what, from which revision to which, and what it was before', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    const { product } = await furnish(house, token)
    await house.send('PUT', `/v1/products/${product}`, { token, body: { name: 'Renamed', apis: [] } })

    expect(await auditOf(house, `&kind=product&id=${product}`)).toEqual([
      {
        time: '2027-01-15T12:00:00.000Z',
        actor: { consumer: 'con_acme' },
        action: 'product.save',
        kind: 'product',
        id: product,
        fromRevision: 1,
        toRevision: 2,
        before: { name: 'Bundle', apis: ['payments-v1'] },
        after: { name: 'Renamed', apis: [] },
      },
      expect.objectContaining({ fromRevision: null, toRevision: 1, before: null }),
    ])
  })

  it('gives every entry once, newest first, over pages, readings among the changes', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    const { subscription } = await furnish(house, token)
    for (let count = 0; count < 10; count++) {
      house.clock.forward(1_000)
      await house.send('GET', `/v1/subscriptions/${subscription}/credentials`, { token })
      await house.send('POST', '/v1/consumers', { token, body: { name: `Number ${count}`, kind: 'agent' } })
    }
    const all = await auditOf(house)
    const times = all.map(({ time }) => String(time))
    expect(times).toEqual(times.toSorted().reverse())
    expect(all.filter(({ action }) => action === 'credentials.read').length).toBeGreaterThanOrEqual(10)
    const made = all.filter(({ action, fromRevision }) => action === 'consumer.create' && fromRevision === null)
    expect(new Set(made.map(({ id }) => id)).size).toBe(11)
    expect(made).toHaveLength(11)
  })

  it('filters by kind, action and consumer', async () => {
    const house = await openHouse()
    await furnish(house, house.token('acme'))
    const kinds = new Set((await auditOf(house, '&kind=consumer')).map(({ kind }) => kind))
    expect(kinds).toEqual(new Set(['consumer']))
    expect(await auditOf(house, '&action=user.create')).toHaveLength(1)
    expect((await auditOf(house, '&consumer=con_acme')).length).toBeGreaterThan(5)
    expect(await auditOf(house, '&consumer=con_other')).toEqual([])
  })

  it('shows no secret, no hash and no cipher text of anything', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    const { subscription } = await furnish(house, token)
    const { body } = await house.send('GET', `/v1/subscriptions/${subscription}/credentials`, { token })
    const shown = JSON.stringify(await auditOf(house))
    for (const { clientSecret, apiKey } of body['items'] as Record<string, string | null>[]) {
      for (const secret of [clientSecret, apiKey]) if (secret !== null) expect(shown).not.toContain(secret)
    }
    expect(shown).not.toMatch(/scrypt|secretHash|keyHash|clientSecret|privateKey|passwordHash|apiKey"/)
    expect(shown).toContain('"clientId"')
  })

  it('is its tenant’s alone, also by id and cursor', async () => {
    const house = await openHouse()
    const { consumer } = await furnish(house, house.token('acme'))
    const rival = house.token('rival')
    expect(await auditOf(house, '', rival)).toEqual([])
    expect(await auditOf(house, `&id=${consumer}`, rival)).toEqual([])
  })

  it.each(['x', Buffer.from('1 x y').toString('base64url'), Buffer.from('1 1').toString('base64url')])(
    'refuses the cursor %s',
    async (cursor) => {
      const house = await openHouse()
      const answer = await house.send('GET', `/v1/audit?cursor=${cursor}`, { token: house.token('acme') })
      expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    },
  )
})

describe('records of decisions and principles', () => {
  const adr = { title: 'Why', status: 'Accepted', context: 'One\ntwo', decision: 'So.', consequences: 'Thus.' }
  const principle = { name: 'Plain', statement: 'Be plain.', rationale: 'It helps.', rules: ['operation-description'] }

  it('come back as they were given, texts of several lines among them', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    await furnish(house, token)
    const made = await house.send('POST', '/v1/adrs', { token, body: { ...adr, api: 'payments-v1' } })
    expect(made).toMatchObject({ status: 201, body: { ...adr, api: 'payments-v1' } })
    const other = await house.send('POST', '/v1/principles', { token, body: principle })
    expect(other).toMatchObject({ status: 201, body: principle })
    const { body } = await house.send('GET', '/v1/adrs?api=payments-v1', { token })
    expect(body['items']).toHaveLength(1)
  })

  it.each([
    ['/v1/adrs', { ...adr, status: 'Maybe' }, '/status'],
    ['/v1/adrs', { ...adr, context: 'x'.repeat(20_001) }, '/context'],
    ['/v1/adrs', { ...adr, decision: 'a\u0000b' }, '/decision'],
    ['/v1/adrs', { ...adr, api: 'none-v1' }, '/api'],
    ['/v1/adrs', { ...adr, title: 'two\nlines' }, '/title'],
    ['/v1/principles', { ...principle, rules: ['a', 'a'] }, '/rules'],
    ['/v1/principles', { ...principle, name: '' }, '/name'],
  ])('%s refuses %j', async (path, body, pointer) => {
    const house = await openHouse()
    const answer = await house.send('POST', path, { token: house.token('acme'), body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })
})
