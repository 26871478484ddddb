/** People watch risks in the console and act on them: live, from an episode, with the keyboard alone, and while the service is away. */

import type { Browser, Page } from 'playwright-core'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createVisits, expectUsable, launchBrowser } from './console-visit.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const MINUTE = 60_000
const WAIT = { timeout: 20_000, interval: 100 }
const MARKUP = '<img src=x onerror="document.title=1">'
const HOSTILE = `${MARKUP}\u202eevil`
let service: Service
let backend: LedgerBackend
let browser: Browser

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  browser = await launchBrowser()
}, MINUTE)

afterAll(async () => {
  await browser.close()
  await service.remove()
  await backend.close()
})

const { signIn } = createVisits(() => ({ service, browser }))

/** Returns the status. */
async function call({ apiKey }: Enrolled, path = 'entries?n=1'): Promise<number> {
  const headers = { 'x-api-key': apiKey, 'user-agent': MARKUP }
  const { statusCode, body } = await request(`${service.gatewayUrl}/ledger-v1/${path}`, { headers })
  await body.dump()
  return statusCode
}

/** Requests a path that the contract does not have. */
async function misuse(caller: Enrolled): Promise<void> {
  expect(await call(caller, encodeURIComponent(MARKUP))).toBe(404)
}

interface Caller extends Enrolled {
  readonly riskId: string
}

/** Enrols a consumer that misuses the API. */
async function openEpisode(name: string): Promise<Caller> {
  const caller = await enrol(service, 'ledger-v1', { name })
  await misuse(caller)
  const idsOf = async () => (await risksOf(caller)).map(({ riskId }) => riskId)
  await expect.poll(idsOf, WAIT).toHaveLength(1)
  const [riskId = ''] = await idsOf()
  return { ...caller, riskId }
}

interface Risk {
  readonly riskId: string
  readonly mute: { readonly reason: string } | null
}

async function risksOf({ consumer }: Enrolled): Promise<readonly Risk[]> {
  return (await service.platform.get<{ items: Risk[] }>(`/v1/risks?attributedTo=${consumer}`)).items
}

async function actionsOf(kind: string, actor: string): Promise<readonly string[]> {
  const { items } = await service.platform.get<{ items: { action: string; actor: { person?: string } }[] }>(
    `/v1/audit?kind=${kind}&limit=100`,
  )
  return items.filter((each) => each.actor.person === actor).map(({ action }) => action)
}

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
const addressOf = ({ riskId }: Caller) => `console/risks/${riskId}`

async function pressUntil(page: Page, key: string, name: string | RegExp): Promise<void> {
  const focused = () =>
    page.evaluate(() => {
      const { document } = globalThis as unknown as { document: { activeElement: { textContent: string | null } } }
      return document.activeElement.textContent ?? ''
    })
  for (let presses = 0; presses < 60; presses++) {
    const text = await focused()
    if (typeof name === 'string' ? text === name : name.test(text)) return
    await page.keyboard.press(key)
  }
  throw new Error(`no element with the name ${String(name)} gets the focus`)
}

describe('the live list', () => {
  it('shows episodes as they happen; new ones wait while the pointer is on it', { timeout: MINUTE }, async () => {
    const first = await openEpisode('Early shop')
    const { page, errors } = await signIn('security', 'console/risks')
    const row = rowOf(page, 'Early shop')
    await row.getByRole('link', { name: 'DesignDrift' }).hover()
    await openEpisode('Late shop')
    // The score of the API may be a new episode as well.
    const waiting = page.getByRole('button', { name: /^[12] new$/ })
    await waiting.waitFor()
    expect(await rowOf(page, 'Late shop').count()).toBe(0)
    // A row changes in place meanwhile. Updates are sent every ten seconds at most.
    await misuse(first)
    await row.getByRole('cell', { name: '2', exact: true }).waitFor({ timeout: 20_000 })
    await waiting.click()
    await rowOf(page, 'Late shop').waitFor()
    expect(await waiting.count()).toBe(0)
    await page.getByLabel('API').fill('other-v1')
    await page.keyboard.press('Enter')
    await page.getByText('No episode passes the filters.').waitFor()
    expect(new URL(page.url()).searchParams.get('api')).toBe('other-v1')
    expect(errors).toEqual([])
  })

  it(
    'says that the service is away, keeps its rows, and recovers without the person',
    { timeout: 2 * MINUTE },
    async () => {
      await openEpisode('Before the stop')
      const { page } = await signIn('security', 'console/risks')
      await rowOf(page, 'Before the stop').waitFor()
      await service.stop()
      await page.getByText('Not live since', { exact: false }).waitFor()
      expect(await rowOf(page, 'Before the stop').count()).toBe(1)
      await service.start()
      await page.getByText('Not live since', { exact: false }).waitFor({ state: 'detached', timeout: 20_000 })
      await openEpisode('After the start')
      await rowOf(page, 'After the start').waitFor()
      expect(await rowOf(page, 'Before the stop').count()).toBe(1)
    },
  )
})

describe('an episode', () => {
  it('leads to its calls, and to the consumer, which are shown as text', { timeout: 2 * MINUTE }, async () => {
    const caller = await openEpisode(HOSTILE)
    const { page, errors } = await signIn('admin', addressOf(caller))
    await page.getByRole('heading', { name: 'DesignDrift' }).waitFor()
    await page.getByRole('link', { name: MARKUP, exact: false }).waitFor()
    await page.getByText('Evidence', { exact: true }).first().waitFor()
    const calls = new URL((await page.getByRole('link', { name: 'See the calls' }).getAttribute('href'))!, page.url())
    expect(calls.pathname).toBe('/console/requests')
    expect(calls.searchParams.get('api')).toBe('ledger-v1')
    expect(calls.searchParams.get('customer')).toBe(caller.consumer)
    expect(Date.parse(calls.searchParams.get('from')!)).toBeLessThan(Date.parse(calls.searchParams.get('to')!))
    const declaration = page.getByRole('link', { name: 'Edit declaration' })
    expect(await declaration.getAttribute('href')).toBe('/console/apis/ledger-v1/declarations')
    await expectUsable(page)
    expect(await page.title()).toBe('DesignDrift · tollgate')
    expect(errors).toEqual([])
  })

  it('is ended by suspending the subscription, which can be undone', { timeout: MINUTE }, async () => {
    const caller = await openEpisode('Suspended')
    const { page, id } = await signIn('admin', addressOf(caller))
    await page.getByRole('button', { name: 'Suspend subscription' }).click()
    await page.getByText(`Subscription ${caller.subscription} is suspended.`, { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Resume subscription' }).waitFor()
    expect(await call(caller)).toBe(403)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: 'Suspend subscription' }).waitFor()
    expect(await call(caller)).toBe(200)
    expect(await actionsOf('subscription', id)).toEqual(['subscription.resumed', 'subscription.suspended'])
  })

  it(
    'is ended by revoking the credential in two clicks, which says what stops working',
    { timeout: MINUTE },
    async () => {
      const caller = await openEpisode('Revoked')
      const { page, id } = await signIn('security', addressOf(caller))
      await page.getByRole('button', { name: 'Revoke credential' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Calls with this credential will be refused from now on.', { exact: false }).waitFor()
      const key = dialog.getByRole('option', { name: /^API key/ })
      await dialog.getByLabel('Credential').selectOption({ label: (await key.textContent()) ?? '' })
      expect(await call(caller)).toBe(200)
      await dialog.getByRole('button', { name: 'Revoke credential' }).click()
      await page.getByText('The credential is revoked.', { exact: false }).waitFor()
      expect(await call(caller)).toBe(401)
      expect(await actionsOf('credential', id)).toContain('credential.revoke')
      // This role cannot suspend.
      expect(await page.getByRole('button', { name: 'Suspend subscription' }).count()).toBe(0)
    },
  )

  it('is handled with the keyboard alone: found, and its credential revoked', { timeout: MINUTE }, async () => {
    const caller = await openEpisode('Keyboard')
    const { page } = await signIn('security')
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await rowOf(page, 'Keyboard').waitFor()
    await page.keyboard.press('j')
    // The newest episode is the first row.
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/${addressOf(caller)}`)
    await page.getByRole('button', { name: 'Revoke credential' }).waitFor()
    await pressUntil(page, 'Tab', 'Revoke credential')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Credential').waitFor()
    await pressUntil(page, 'Tab', /Client.*API key|API key.*Client/)
    await page.keyboard.type('API')
    await pressUntil(page, 'Tab', 'Revoke credential')
    await page.keyboard.press('Enter')
    await page.getByText('The credential is revoked.', { exact: false }).waitFor()
    expect(await call(caller)).toBe(401)
  })

  it(
    'is muted with a reason and an end, also over a restart, until the mute is ended',
    { timeout: 2 * MINUTE },
    async () => {
      const caller = await openEpisode('Muted one')
      const { page, id, errors } = await signIn('security', addressOf(caller))
      await page.getByRole('button', { name: 'Mute' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Reason').fill(`${HOSTILE} is a load test`)
      await dialog.getByLabel('Until').selectOption('In 7 days')
      await dialog.getByRole('button', { name: 'Mute' }).click()
      await page.getByText('The episode is muted.').waitFor()
      await page.getByRole('button', { name: 'End mute' }).waitFor()
      expect(await risksOf(caller)).toMatchObject([{ mute: { reason: `${HOSTILE} is a load test` } }])
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
      expect(await risksOf(caller)).toMatchObject([{ mute: null }])
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
    },
  )
})

describe('a person who may only read', () => {
  it('sees no action, and the service refuses each', { timeout: MINUTE }, async () => {
    const caller = await openEpisode('Read only')
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
