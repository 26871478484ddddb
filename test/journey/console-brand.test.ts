/** The brand of an organisation in the console, and a portal that is switched off. */

// @module-tag chromium

import type { Page } from 'playwright-core'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { pixels } from '../fixtures/images.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { createPublicClient, logIn } from './person.ts'
import type { Service } from './service.ts'
import { createConsumer, invite, PASSWORD, type Role } from './shared-client.ts'

let service: Service
/** Of a person of a consumer. */
let role: Role

const { signIn, open } = useConsole({}, async (stage) => {
  ;({ service } = stage)
  role = { role: 'consumer', consumers: [await createConsumer(service)] }
})

/** Calls the platform API through the session of the page. */
async function statusAt(page: Page, path: string): Promise<number> {
  return page.evaluate(
    async (url) => (await fetch(url, { headers: { 'tollgate-console': '1' } })).status,
    `/console/api${path}`,
  )
}

async function switchPortal(enabled: boolean): Promise<void> {
  const headers = { authorization: `Bearer ${await service.platform.token()}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ enabled })
  const answer = await request(`${service.baseUrl}/v1/portal`, { method: 'PATCH', headers, body })
  expect([answer.statusCode, await answer.body.json()]).toMatchObject([200, { enabled }])
}

describe('the brand of an organisation', () => {
  it('is set in the settings, and shown in the portal and at its sign-in', async () => {
    const { page } = await signIn('admin', 'console/settings/portal')
    await page.getByLabel('Name', { exact: true }).fill('Acme APIs')
    await page.getByLabel('Colour').fill('#ffcc00')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: pixels(64, 32) })
    await page.getByRole('button', { name: 'Save portal' }).click()
    await page.getByText('The portal is changed.').waitFor()
    await expectUsable(page)
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from('<svg/>') })
    await page.getByRole('button', { name: 'Save portal' }).click()
    await page.getByRole('alert').waitFor()

    const portal = await signIn(role)
    await portal.page.locator('.brand').getByText('Acme APIs').waitFor()
    await expectUsable(portal.page)
    const src = await portal.page.locator('.brand img').getAttribute('src')
    const logo = await request(service.baseUrl + String(src))
    expect(Buffer.from(await logo.body.arrayBuffer()).equals(pixels(64, 32))).toBe(true)
    expect(logo.headers).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining('sandbox'),
    })

    const stranger = await open('console/?organisation=default')
    await stranger.page.getByRole('heading', { name: 'Acme APIs' }).waitFor()
    await expectUsable(stranger.page)
    const brandOf = async (organisation: string) => {
      const answer = await request(`${service.baseUrl}/console/brand?${new URLSearchParams({ organisation })}`)
      return [answer.statusCode, await answer.body.text()]
    }
    await service.platform.post('/v1/tenants', { name: 'plain' })
    expect(await brandOf('nobody')).toEqual(await brandOf('plain'))
  })
})

describe('a portal that is switched off', () => {
  it('refuses its people at the sign-in and in open sessions, and nobody else', async () => {
    const { page } = await signIn(role)
    const clientId = await createPublicClient(service, 'platform-v1')
    await switchPortal(false)
    try {
      expect(await statusAt(page, '/v1/me')).toBe(401)
      await page.reload()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      const { username } = await invite(service, role)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByLabel('User name').fill(username)
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').getByText('The portal of your organisation is switched off.').waitFor()
      expect(await statusAt(page, '/v1/me')).toBe(401)
      const { token } = await logIn(service, { api: 'platform-v1', clientId, username, password: PASSWORD })
      const api = await request(`${service.baseUrl}/v1/subscriptions`, {
        headers: { authorization: `Bearer ${token}` },
      })
      await api.body.dump()
      expect(api.statusCode).toBe(200)
      await (await signIn('admin')).page.getByRole('heading', { name: 'Overview' }).waitFor()
    } finally {
      await switchPortal(true)
    }
    await signIn(role)
  })
})
