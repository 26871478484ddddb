import { describe, expect, it } from 'vitest'
import { publishApi } from '../../../fixtures/published-api.ts'
import { openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'

type Entry = Readonly<Record<string, unknown>>

async function auditOf(platform: TestPlatform, query = '', token = platform.token('acme')): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (let next: unknown = ''; next !== null;) {
    const path = `/v1/audit?limit=7${query}${next === '' ? '' : `&cursor=${String(next)}`}`
    const { status, body, text } = await platform.send('GET', path, { token })
    expect(status, text).toBe(200)
    all.push(...(body['items'] as Entry[]))
    next = body['next']
  }
  return all
}

describe('the audit log', () => {
  it('shows the actor, the revisions and the previous state of each change', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { product } = await publishApi(platform, token)
    await platform.send('PUT', `/v1/products/${product}`, { token, body: { name: 'Renamed', apis: [] } })

    expect(await auditOf(platform, `&kind=product&id=${product}`)).toEqual([
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

  it('lists each entry once over all pages, newest first, with reads of secrets', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription } = await publishApi(platform, token)
    for (let count = 0; count < 10; count++) {
      platform.clock.advanceSync(1_000)
      await platform.send('GET', `/v1/subscriptions/${subscription}/credentials`, { token })
      await platform.send('POST', '/v1/consumers', { token, body: { name: `Number ${count}`, kind: 'agent' } })
    }
    const all = await auditOf(platform)
    const times = all.map(({ time }) => String(time))
    expect(times).toEqual(times.toSorted().reverse())
    expect(all.filter(({ action }) => action === 'credentials.read').length).toBeGreaterThanOrEqual(10)
    const made = all.filter(({ action, fromRevision }) => action === 'consumer.create' && fromRevision === null)
    expect(new Set(made.map(({ id }) => id)).size).toBe(11)
    expect(made).toHaveLength(11)
  })

  it('filters by kind, action and consumer', async () => {
    const platform = await openTestPlatform()
    await publishApi(platform, platform.token('acme'))
    const kinds = new Set((await auditOf(platform, '&kind=consumer')).map(({ kind }) => kind))
    expect(kinds).toEqual(new Set(['consumer']))
    expect(await auditOf(platform, '&action=user.create')).toHaveLength(1)
    expect((await auditOf(platform, '&consumer=con_acme')).length).toBeGreaterThan(5)
    expect(await auditOf(platform, '&consumer=con_other')).toEqual([])
  })

  it('shows no secret, no hash and no cipher text', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription } = await publishApi(platform, token)
    const { body } = await platform.send('GET', `/v1/subscriptions/${subscription}/credentials`, { token })
    const shown = JSON.stringify(await auditOf(platform))
    for (const { clientSecret, apiKey } of body['items'] as Record<string, string | null>[]) {
      for (const secret of [clientSecret, apiKey]) if (secret !== null) expect(shown).not.toContain(secret)
    }
    expect(shown).not.toMatch(/scrypt|secretHash|keyHash|clientSecret|privateKey|passwordHash|apiKey"/)
    expect(shown).toContain('"clientId"')
  })

  it('shows no entry of another tenant, not even by id or cursor', async () => {
    const platform = await openTestPlatform()
    const { consumer } = await publishApi(platform, platform.token('acme'))
    const rival = platform.token('rival')
    expect(await auditOf(platform, '', rival)).toEqual([])
    expect(await auditOf(platform, `&id=${consumer}`, rival)).toEqual([])
  })

  it.each(['x', Buffer.from('1 x y').toString('base64url'), Buffer.from('1 1').toString('base64url')])(
    'refuses the cursor %s',
    async (cursor) => {
      const platform = await openTestPlatform()
      const answer = await platform.send('GET', `/v1/audit?cursor=${cursor}`, { token: platform.token('acme') })
      expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    },
  )
})

describe('decision records and principles', () => {
  const adr = { title: 'Why', status: 'Accepted', context: 'One\ntwo', decision: 'So.', consequences: 'Thus.' }
  const principle = { name: 'Plain', statement: 'Be plain.', rationale: 'It helps.', rules: ['operation-description'] }

  it('are returned as sent, including texts of several lines', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    await publishApi(platform, token)
    const made = await platform.send('POST', '/v1/adrs', { token, body: { ...adr, api: 'payments-v1' } })
    expect(made).toMatchObject({ status: 201, body: { ...adr, api: 'payments-v1' } })
    const other = await platform.send('POST', '/v1/principles', { token, body: principle })
    expect(other).toMatchObject({ status: 201, body: principle })
    const { body } = await platform.send('GET', '/v1/adrs?api=payments-v1', { token })
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
    const platform = await openTestPlatform()
    const answer = await platform.send('POST', path, { token: platform.token('acme'), body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })
})
