/** People of a provider give access to consumers in the console, and decide on requests. */

// @module-tag chromium

import type { Page } from 'playwright-core'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { activate, enterText, goTo } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { ledgerDocument } from './ledger-backend.ts'
import { enrol, publish, type Service } from './service.ts'
import { createConsumer, subscribe } from './shared-client.ts'

const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
let service: Service

const { signIn } = useConsole({}, async (stage) => {
  ;({ service } = stage)
  const other = { ...ledgerDocument(), info: { title: 'Other', version: '1.0.0' } }
  await publish(service, 'other-v1', other, stage.backend.url)
})

async function withKey(key: string): Promise<{ readonly status: number }> {
  const headers = { 'x-api-key': key }
  const answer = await request(`${service.gatewayUrl}/ledger-v1/entries?n=1`, { headers })
  await answer.body.dump()
  return { status: answer.statusCode }
}

async function keyShownIn(page: Page): Promise<string> {
  const secrets = page.getByRole('region', { name: 'Secrets' })
  await secrets.waitFor()
  const [key] = /tg_\w{49}/.exec(await secrets.innerText()) ?? []
  expect(key).toBeDefined()
  return key!
}

const auditOf = async (id: string) =>
  (await service.platform.get<{ items: { action: string }[] }>(`/v1/audit?id=${id}`)).items.map(({ action }) => action)

describe('access of a consumer', () => {
  it('is created, rotated with an overlap and revoked; secrets are shown on request', async () => {
    const { page, errors } = await signIn('admin', 'console/consumers')
    await page.getByRole('button', { name: 'Create consumer' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Mobile app')
    await page.getByRole('dialog').getByRole('button', { name: 'Create consumer' }).click()
    await page.getByRole('heading', { name: 'Mobile app' }).waitFor()
    await page.getByRole('link', { name: 'Subscriptions' }).last().click()
    await page.getByRole('button', { name: 'Create subscription' }).click()
    await page.getByLabel('API', { exact: true }).fill('ledger-v1')
    await page.getByRole('dialog').getByRole('button', { name: 'Create subscription' }).click()

    await page.getByRole('heading', { name: 'Mobile app at ledger-v1' }).waitFor()
    const first = await keyShownIn(page)
    expect((await withKey(first)).status).toBe(200)
    const id = new URL(page.url()).pathname.split('/')[3]!
    expect(await auditOf(id)).toEqual(expect.arrayContaining(['credentials.read', 'subscription.create']))

    await page.reload()
    await page.getByText(`${first.slice(0, 8)}…`).waitFor()
    expect(await page.content()).not.toContain(first)
    const reads = (await auditOf(id)).filter((action) => action === 'credentials.read').length
    await page.getByRole('button', { name: 'Reveal secrets' }).click()
    expect(await keyShownIn(page)).toBe(first)
    expect((await auditOf(id)).filter((action) => action === 'credentials.read')).toHaveLength(reads + 1)
    await page.getByRole('button', { name: 'Hide secrets' }).click()
    expect(await page.content()).not.toContain(first)

    await page.getByRole('button', { name: 'Rotate credentials' }).click()
    await page.getByLabel('Overlap').selectOption({ label: '1 hour' })
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate credentials' }).click()
    const second = await keyShownIn(page)
    expect([(await withKey(first)).status, (await withKey(second)).status]).toEqual([200, 200])

    const certificateThumbprint = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
    expect(await page.getByText('Client certificate').count()).toBe(0)
    await service.platform.post(`/v1/subscriptions/${id}/credentials/rotate`, { certificateThumbprint })
    await page.reload()
    await page.getByRole('button', { name: '47DEQpj8…3hSuFU' }).first().waitFor()

    const row = page.getByRole('row').filter({ hasText: `${second.slice(0, 8)}…` })
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Billing run')
    await page.getByRole('dialog').getByLabel('Labels').fill('team=a')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await row.getByText('Billing run').waitFor()
    const named = `/v1/subscriptions/${id}/credentials?reveal=false&label=team:a`
    const { items } = await service.platform.get<{ items: { lastUsedAt: string | null }[] }>(named)
    expect(items).toEqual([expect.objectContaining({ name: 'Billing run', lastUsedAt: expect.stringMatching(/:00/) })])
    expect(await row.getByText('not used yet').count()).toBe(0)
    await row.getByRole('button', { name: 'Revoke credential' }).click()
    await page.getByText('will be refused from now on', { exact: false }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke credential' }).click()
    await row.getByText('Revoked').waitFor()
    expect([(await withKey(first)).status, (await withKey(second)).status]).toEqual([200, 401])
    expect(errors).toEqual([])
  })

  it('copies a secret, and says so if the browser does not allow it', async () => {
    const { subscription, apiKey } = await enrol(service, 'ledger-v1', { name: 'Copied' })
    const { page, context, errors } = await signIn('admin', `console/subscriptions/${subscription}/credentials`)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Reveal secrets' }).click()
    const copy = page.getByRole('button', { name: 'Copy API key' })
    await copy.click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(apiKey)
    await page.evaluate(
      'navigator.clipboard.writeText = async () => { throw new DOMException("no", "NotAllowedError") }',
    )
    await copy.click()
    await page.getByRole('button', { name: 'Not allowed to copy' }).waitFor()
    expect(errors).toEqual([])
  })

  it('is suspended, and resumed with undo', async () => {
    const { subscription, apiKey } = await enrol(service, 'ledger-v1', { name: 'Till' })
    const { page } = await signIn('admin', `console/subscriptions/${subscription}`)
    await page.getByRole('button', { name: 'Suspend subscription' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    expect((await withKey(apiKey)).status).toBe(403)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('The change is undone.').waitFor()
    expect((await withKey(apiKey)).status).toBe(200)
  })

  it('is found by the beginning of the name of its consumer', async () => {
    for (const name of ['Zebra', 'zebra two', 'Zoo']) await enrol(service, 'ledger-v1', { name })
    const { page } = await signIn('admin', 'console/consumers')
    await page.keyboard.press('/')
    await page.keyboard.type('ZEB')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Zebra', exact: true }).waitFor()
    expect(await page.getByRole('main').getByRole('rowheader').allInnerTexts()).toEqual(['Zebra', 'zebra two'])
    expect(new URL(page.url()).search).toBe('?name=ZEB')
  })
})

describe('a request that waits for a decision', () => {
  it('is approved with the keyboard alone, after an earlier comment', async () => {
    const { platform } = service
    await platform.put('/v1/apis/other-v1/policy', { subscriptionApproval: 'Manual' })
    const consumer = await createConsumer(service)
    const id = await subscribe(service, consumer, { api: 'other-v1' })
    const { page, errors } = await signIn('admin')
    await goTo(page, 's')
    await page.getByRole('heading', { name: 'Subscriptions' }).waitFor()
    await activate(page, 'Approvals')
    await page.getByRole('heading', { name: 'Shop at other-v1' }).waitFor()
    await page.keyboard.press('j')
    await enterText(page, /^Comment on/, 'Which volume do you expect?')
    await activate(page, 'Ask for an amendment')
    await page.getByText('The requester has to amend the request.').waitFor()

    await platform.put(`/v1/subscriptions/${id}/scopes`, { scopes: ['entries:read'] })
    await page.reload()
    await page.getByText('Which volume do you expect?').waitFor()
    await page.keyboard.press('j')
    await activate(page, 'Approve')
    await page.getByText('No request waits for a decision.').waitFor()
    expect(await platform.get(`/v1/subscriptions/${id}`)).toMatchObject({ state: 'Active' })
    expect(errors).toEqual([])
  })
})

describe('a person', () => {
  it('without the right sees neither the actions nor the secrets', async () => {
    const { subscription, consumer, apiKey } = await enrol(service, 'ledger-v1', { name: 'Reader of secrets' })
    const { page } = await signIn('security', `console/subscriptions/${subscription}/credentials`)
    await page.getByText(`${apiKey.slice(0, 8)}…`).waitFor()
    const buttons = async () => (await page.getByRole('main').getByRole('button').allInnerTexts()).join()
    expect(await buttons()).not.toMatch(/Reveal|Suspend|Cancel/)
    await page.goto(`${service.baseUrl}/console/consumers/${consumer}`)
    await page.getByRole('heading', { name: 'Reader of secrets' }).waitFor()
    expect(await buttons()).not.toMatch(/Disable|Edit|Remove/)
  })

  it('of a consumer sees its own access alone', async () => {
    const mine = await enrol(service, 'ledger-v1', { name: 'Mine' })
    const other = await enrol(service, 'ledger-v1', { name: 'Not mine' })
    // People use the console under a subscription of their consumer.
    const own = ['subscriptions', 'credentials', 'requests'].map((name) => `${name}:read:own`)
    await subscribe(service, mine.consumer, { api: 'platform-v1', scopes: ['me:read', ...own] })
    const role = { role: 'consumer', consumers: [mine.consumer] }
    const { page } = await signIn(role, 'console/keys')
    await page.getByRole('link', { name: 'ledger-v1', exact: true }).waitFor()
    expect(await page.getByRole('main').innerText()).not.toContain('Not mine')
    await page.goto(`${service.baseUrl}/console/keys/${other.subscription}`)
    await page.getByText('There is no such page.').waitFor()
    await page.goto(`${service.baseUrl}/console/requests/explain?key=${other.apiKey.slice(0, 8)}`)
    await page.getByText('No API key of yours begins so.').waitFor()
    await page.goto(`${service.baseUrl}/console/requests/explain?key=${mine.apiKey.slice(0, 8)}`)
    await page.getByText('A call is admitted, if its operation and its limits admit it.').waitFor()
  })
})

describe('every view of consumers and subscriptions', () => {
  it('has no finding of axe, no scroll bar at the side, and hostile names as text', async () => {
    const { platform } = service
    const long = `${HOSTILE.slice(0, 60)}${'ö'.repeat(60)}`
    const texts = { contact: HOSTILE, labels: { note: HOSTILE } }
    const body = { name: long, kind: 'application', ...texts }
    const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', body)
    await platform.put('/v1/apis/other-v1/policy', { subscriptionApproval: 'Manual' })
    const waiting = await subscribe(service, consumer, { api: 'other-v1', ...texts })
    const { items } = await platform.get<{ items: { id: string }[] }>(`/v1/subscriptions/${waiting}/approvalFlows`)
    const comments = `${HOSTILE}\n${'x'.repeat(10_000)}`
    const decision = { outcome: 'AmendmentRequired', comments }
    await platform.put(`/v1/subscriptions/${waiting}/scopes`, { scopes: [] })
    const { page, errors, id } = await signIn('admin', 'console/consumers')
    expect(id).not.toBe('')
    await decideInName(page, waiting, items[0]!.id, decision)
    const views = [
      ...['', 'subscriptions', 'credentials', 'usage', 'limits', 'bill', 'risks', 'requests', 'activity'].map(
        (tab) => `consumers/${consumer}/${tab}`,
      ),
      ...['', 'credentials', 'limits', 'approvals', 'activity'].map((tab) => `subscriptions/${waiting}/${tab}`),
      ...[
        'consumers',
        'subscriptions',
        'subscriptions/approvals',
        'subscriptions/waiting',
        'approvals?state=AmendmentRequired',
      ],
      ...['subscriptions/waiting/tiers', 'requests', 'requests/explain'],
    ]
    for (const view of views) {
      await page.goto(`${service.baseUrl}/console/${view}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expectUsable(page)
      expect(await page.title()).not.toBe('1')
    }
    expect(errors).toEqual([])
  })
})

/** The requester, which is the client of the test, cannot decide itself. */
async function decideInName(page: Page, subscription: string, flow: string, decision: object): Promise<void> {
  const status = await page.evaluate(
    async ([path, body]) => {
      const headers = { 'tollgate-console': '1', 'content-type': 'application/json' }
      return (await fetch(path!, { method: 'POST', headers, body: body! })).status
    },
    [`/console/api/v1/subscriptions/${subscription}/approvalFlows/${flow}/approvals`, JSON.stringify(decision)],
  )
  expect(status).toBe(200)
}
