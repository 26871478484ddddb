/** People act on risks in the console: from an episode, with the keyboard alone, and only with the rights that they have. */

// @module-tag chromium

import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { choose, activate, goTo, openRow } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { call, HOSTILE, MARKUP, openEpisode, risksOf, type Caller } from './risk-episodes.ts'
import type { Service } from './service.ts'

let service: Service

const { signIn } = useConsole({ env: { REQUEST_LOG: 'all' } }, (stage) => {
  ;({ service } = stage)
})

async function actionsOf(kind: string, actor: string): Promise<readonly string[]> {
  const { items } = await service.platform.get<{ items: { action: string; actor: { person?: string } }[] }>(
    `/v1/audit?kind=${kind}&limit=100`,
  )
  return items.filter((each) => each.actor.person === actor).map(({ action }) => action)
}

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
const addressOf = ({ riskId }: Caller) => `console/risks/${riskId}`

describe('an episode', () => {
  it('leads to its calls, and to the consumer, which are shown as text', async () => {
    const caller = await openEpisode(service, HOSTILE)
    const { page, errors } = await signIn('admin', addressOf(caller))
    await page.getByRole('heading', { name: 'DesignDrift' }).waitFor()
    await page.getByRole('link', { name: MARKUP, exact: false }).waitFor()
    // A call is stored some seconds after it has ended; the view reads it then.
    await page.getByText('Evidence', { exact: true }).first().waitFor({ timeout: 30_000 })
    const calls = new URL((await page.getByRole('link', { name: 'See the calls' }).getAttribute('href'))!, page.url())
    expect(calls.pathname).toBe('/console/requests')
    expect(calls.searchParams.get('api')).toBe('ledger-v1')
    expect(calls.searchParams.get('customer')).toBe(caller.consumer)
    expect(Date.parse(calls.searchParams.get('from')!)).toBeLessThan(Date.parse(calls.searchParams.get('to')!))
    const declaration = page.getByRole('link', { name: 'Edit declaration' })
    expect(await declaration.getAttribute('href')).toBe('/console/apis/ledger-v1/declarations')
    await expectUsable(page)
    expect(await page.title()).toBe('Calls differ from the document (DesignDrift) · tollgate')
    expect(errors).toEqual([])
  })

  it('is ended by suspending the subscription, which can be undone', async () => {
    const caller = await openEpisode(service, 'Suspended')
    const { page, id } = await signIn('admin', addressOf(caller))
    await page.getByRole('button', { name: 'Suspend subscription' }).click()
    await page.getByText(`Subscription ${caller.subscription} is suspended.`, { exact: false }).waitFor()
    await page.locator('button:focus', { hasText: 'Resume subscription' }).waitFor()
    expect(await call(service, caller)).toBe(403)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: 'Suspend subscription' }).waitFor()
    expect(await call(service, caller)).toBe(200)
    expect(await actionsOf('subscription', id)).toEqual(['subscription.resumed', 'subscription.suspended'])
  })

  it('is ended by revoking the credential in two clicks, which says what stops working', async () => {
    const caller = await openEpisode(service, 'Revoked')
    const { page, id } = await signIn('security', addressOf(caller))
    await page.getByRole('button', { name: 'Revoke credential' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Calls with this credential will be refused from now on.', { exact: false }).waitFor()
    const key = dialog.getByRole('option', { name: /^API key/ })
    await dialog.getByLabel('Credential').selectOption({ label: (await key.textContent()) ?? '' })
    expect(await call(service, caller)).toBe(200)
    await dialog.getByRole('button', { name: 'Revoke credential' }).click()
    await page.getByText('The credential is revoked.', { exact: false }).waitFor()
    expect(await call(service, caller)).toBe(401)
    expect(await actionsOf('credential', id)).toContain('credential.revoke')
    // This role cannot suspend.
    expect(await page.getByRole('button', { name: 'Suspend subscription' }).count()).toBe(0)
  })

  it('leads to a proposal of another tier, which is decided like a request for access', async () => {
    const limits = [{ name: 'all', concurrent: 2 }]
    const text = JSON.stringify({ opensla: '1.0.0', info: { version: '1.0.0', variant: 'gold' }, limits })
    const specification = Buffer.from(text).toString('base64')
    await service.platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification })
    const caller = await openEpisode(service, 'Tier')
    await service.platform.put('/v1/apis/ledger-v1/policy', { subscriptionApproval: 'Manual' })
    const { page, id } = await signIn('admin', addressOf(caller))
    await page.getByRole('button', { name: 'Propose tier change' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Tier').selectOption('gold')
    await dialog.getByLabel('Reason').fill(HOSTILE)
    await dialog.getByRole('button', { name: 'Propose tier change' }).click()
    await page.getByText('The tier change is requested.').waitFor()
    await service.platform.put('/v1/apis/ledger-v1/policy', { subscriptionApproval: 'Auto' })
    const { items } = await service.platform.get<{ items: object[] }>(
      `/v1/subscriptions/${caller.subscription}/approvalFlows`,
    )
    expect(items).toMatchObject([{ kind: 'tierChange', slaVariant: 'gold', reason: HOSTILE, requester: id }])
  })

  it('is ended by revoking the credential with the keyboard alone', async () => {
    const caller = await openEpisode(service, 'Keyboard')
    const { page, errors } = await signIn('security')
    await goTo(page, 'r')
    await rowOf(page, 'Keyboard').waitFor()
    await openRow(page, 'Keyboard')
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/${addressOf(caller)}`)
    await page.getByRole('button', { name: 'Revoke credential' }).waitFor()
    await activate(page, 'Revoke credential')
    await page.getByRole('dialog').getByLabel('Credential').waitFor()
    await choose(page, 'Credential', 'API')
    await activate(page, 'Revoke credential')
    await page.getByText('The credential is revoked.', { exact: false }).waitFor()
    expect(await call(service, caller)).toBe(401)
    // The focus is back where the dialog was opened.
    await page.locator('button:focus', { hasText: 'Revoke credential' }).waitFor()
    expect(errors).toEqual([])
  })

  it('is muted with a reason and an end, also over a restart, until the mute is ended', async () => {
    const caller = await openEpisode(service, 'Muted one')
    const { page, id, errors } = await signIn('security', addressOf(caller))
    await page.getByRole('button', { name: 'Mute' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill(`${HOSTILE} is a load test`)
    await dialog.getByLabel('Until').selectOption('In 7 days')
    await dialog.getByRole('button', { name: 'Mute' }).click()
    await page.getByText('The episode is muted.').waitFor()
    await page.getByRole('button', { name: 'End mute' }).waitFor()
    await page.locator('button:focus', { hasText: 'End mute' }).waitFor()
    expect(await risksOf(service, caller)).toMatchObject([{ mute: { reason: `${HOSTILE} is a load test` } }])
    await service.stop()
    await service.start()
    await page.goto(`${service.baseUrl}/console/risks`)
    await rowOf(page, 'Muted one').getByText('Muted', { exact: true }).waitFor()
    await expectUsable(page)
    await page.getByLabel('Hide muted episodes').check()
    await rowOf(page, 'Muted one').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Mutes' }).click()
    await rowOf(page, 'Muted one').getByText(`${MARKUP}`, { exact: false }).waitFor()
    await expectUsable(page)
    await page.getByRole('button', { name: 'End mute' }).click()
    await page.getByText('No episode is muted.', { exact: false }).waitFor()
    await expectUsable(page)
    expect(await risksOf(service, caller)).toMatchObject([{ mute: null }])
    await page.getByRole('button', { name: 'Undo' }).click()
    await rowOf(page, 'Muted one').waitFor()
    await page.getByRole('link', { name: 'Episodes' }).click()
    await page.getByLabel('Muted').selectOption('Only these')
    await rowOf(page, 'Muted one').waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await expectUsable(page)
    expect(await actionsOf('mute', id)).toEqual(['mute.create', 'mute.end', 'mute.create'])
    expect(await page.title()).toBe('Episodes · tollgate')
    expect(errors).toEqual([])
  })
})

describe('a person who may only read', () => {
  it('sees no action, and the service refuses each', async () => {
    const caller = await openEpisode(service, 'Read only')
    const { page } = await signIn('auditor', addressOf(caller))
    await page.getByRole('heading', { name: 'Subscriptions involved' }).waitFor()
    await page.getByRole('link', { name: caller.subscription }).waitFor()
    for (const name of ['Mute', 'Suspend subscription', 'Revoke credential', 'Propose tier change'])
      expect([name, await page.getByRole('button', { name, exact: true }).count()]).toEqual([name, 0])
    expect(await page.getByRole('link', { name: 'Edit declaration' }).count()).toBe(0)
    const paths = [
      `/v1/risks/${caller.riskId}/mutes`,
      `/v1/subscriptions/${caller.subscription}/suspend`,
      `/v1/subscriptions/${caller.subscription}/tierChanges`,
    ]
    const statuses = await page.evaluate(async (all: readonly string[]) => {
      const send = async (path: string): Promise<number> => {
        const headers = { 'tollgate-console': '1', 'content-type': 'application/json' }
        return (await fetch(`/console/api${path}`, { method: 'POST', headers, body: '{}' })).status
      }
      return Promise.all(all.map(send))
    }, paths)
    expect(statuses).toEqual([403, 403, 403])
  })
})
