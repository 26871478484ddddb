/** Administration in the console: people, roles, the own account, webhooks, the audit log; and what a person without rights sees. */

// @module-tag chromium

import type { Browser, Page } from 'playwright-core'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { activate, enterText, goTo } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import type { Service } from './service.ts'
import { PASSWORD } from './shared-client.ts'

const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
let service: Service
let browser: Browser

const { signIn } = useConsole({}, async (stage) => {
  ;({ service, browser } = stage)
  await service.platform.post('/v1/users', { username: 'hostile', name: HOSTILE })
  await service.platform.post('/v1/roles', { name: 'watcher', description: HOSTILE, scopes: ['risks:read'] })
  await service.platform.post('/v1/eventsubscriptions', { url: `https://hooks.example/?q=${'W'.repeat(1_900)}` })
})
const dialog = (page: Page) => page.getByRole('dialog')

describe('an administrator', () => {
  it('invites a person, who sets a password with the link, and disables and enables them', async () => {
    const { page, errors } = await signIn('admin', 'console/settings/people')
    await page.getByRole('button', { name: 'Invite person' }).click()
    await dialog(page).getByLabel('User name').fill('ada')
    await dialog(page).getByLabel('Name', { exact: true }).fill('Ada Lovelace')
    await dialog(page).getByRole('button', { name: 'Add role' }).click()
    await dialog(page).getByLabel('Role', { exact: true }).selectOption('auditor')
    await dialog(page).getByRole('button', { name: 'Invite person' }).click()
    const link = await dialog(page).locator('code').innerText()
    await expectUsable(page)
    const other = await browser.newPage()
    await other.goto(link)
    await other.getByLabel('New password').fill(PASSWORD)
    await other.getByRole('button', { name: 'Set password' }).click()
    await other.getByText('Your password is set').waitFor()
    await other.close()
    await page.getByRole('button', { name: 'I have sent the link' }).click()
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Disable person' }).click()
    await page.getByText('The person is disabled').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('The change is undone.').waitFor()
    await page.getByRole('button', { name: 'Disable person' }).waitFor()
    await page.getByRole('button', { name: 'Reset password' }).click()
    await page.getByText('The password of Ada Lovelace stops working now', { exact: false }).waitFor()
    await dialog(page).getByRole('button', { name: 'Reset password' }).click()
    expect(await dialog(page).locator('code').innerText()).not.toBe(link)
    await page.getByRole('button', { name: 'I have sent the link' }).click()
    await page.getByText('Pending', { exact: true }).waitFor()
    expect(errors).toEqual([])
  })

  it('finds the change in the audit log, before and after', async () => {
    const { page } = await signIn('admin', 'console/settings/audit?kind=role')
    await page.getByRole('button', { name: 'Show change' }).first().click()
    await dialog(page).getByText('watcher', { exact: false }).first().waitFor()
    await expectUsable(page)
  })

  it('creates a webhook with the keyboard alone, sends a test, and reads its attempts', async () => {
    const { page, errors } = await signIn('admin')
    await goTo(page, 'w')
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    await activate(page, 'Create webhook')
    await dialog(page).waitFor()
    await enterText(page, 'URL', 'https://hooks.example/keyboard')
    await page.keyboard.press('Enter')
    await dialog(page)
      .getByText(/^whsec_/)
      .first()
      .waitFor()
    await activate(page, 'I have stored the secret')
    await page.getByRole('heading', { level: 1, name: 'https://hooks.example/keyboard' }).waitFor()
    await activate(page, 'Send test event')
    await dialog(page).waitFor()
    await activate(page, 'Send test event')
    await page.getByText('The test event is on its way.').waitFor()
    await page.reload()
    await page.getByRole('main').locator('tbody th a').first().waitFor()
    await expectUsable(page)
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Attempts' }).waitFor()
    await expectUsable(page)
    await activate(page, 'All deliveries')
    await page.getByRole('button', { name: 'Disable webhook' }).waitFor()
    await activate(page, 'Disable webhook')
    await page.getByText('The webhook receives no events.').waitFor()
    await activate(page, 'Undo')
    await page.getByText('The change is undone.').waitFor()
    await activate(page, 'Delete webhook')
    await page.getByText('Events are no longer sent to https://hooks.example/keyboard', { exact: false }).waitFor()
    await activate(page, 'Delete webhook')
    await page.getByText('The webhook is deleted.').waitFor()
    expect(errors).toEqual([])
  })
})

describe('an owner', () => {
  it('creates a role with rights that they hold, and rotates the signing keys', async () => {
    const { page } = await signIn('owner', 'console/settings/roles?open=create')
    await dialog(page).getByLabel('Name', { exact: true }).fill('reader')
    await dialog(page).getByLabel('apis:read', { exact: true }).check()
    await dialog(page).getByLabel('usage:read:own', { exact: true }).check()
    await dialog(page).getByRole('button', { name: 'Create role' }).click()
    await page.getByRole('link', { name: 'reader' }).click()
    await page.getByText('usage:read:own').waitFor()
    expect(await service.platform.get('/v1/roles/reader')).toMatchObject({ scopes: ['apis:read', 'usage:read:own'] })
    await page.goto(`${service.baseUrl}/console/settings/signing-keys`)
    const before = await page.locator('tbody tr').count()
    await page.getByRole('button', { name: 'Rotate signing keys' }).click()
    await page.getByText('The next keys sign tokens from now on.', { exact: false }).waitFor()
    await dialog(page).getByRole('button', { name: 'Rotate signing keys' }).click()
    await page.getByText('The signing keys are rotated.').waitFor()
    await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(before)
  })

  it('creates an organisation, whose credential is shown once', async () => {
    const { page } = await signIn('owner', 'console/settings/organisations?open=create')
    await dialog(page).getByLabel('Name', { exact: true }).fill('Acme')
    await dialog(page).getByRole('button', { name: 'Create organisation' }).click()
    await dialog(page).getByText('The secret is shown now only.', { exact: false }).waitFor()
    await page.getByRole('button', { name: 'I have stored the credential' }).click()
    await page.getByRole('rowheader', { name: 'Acme' }).waitFor()
  })
})

describe('every person', () => {
  it('changes the own name and password, and ends sessions', async () => {
    const { page, id } = await signIn('auditor', 'console/settings/me')
    await page.getByRole('button', { name: 'Change name' }).click()
    await dialog(page).getByLabel('Name').fill(HOSTILE)
    await dialog(page).getByRole('button', { name: 'Change name' }).click()
    await page.getByText('Your name is changed.').waitFor()
    await page.getByText('<img src=x onerror', { exact: false }).first().waitFor()
    await expectUsable(page)
    await page.getByRole('button', { name: 'Change password' }).click()
    await dialog(page).getByLabel('Present password').fill('wrong')
    await dialog(page).getByLabel('New password').fill('centimetres are not inches')
    await dialog(page).getByRole('button', { name: 'Change password' }).click()
    await dialog(page).getByRole('alert').waitFor()
    await dialog(page).getByLabel('Present password').fill(PASSWORD)
    await dialog(page).getByRole('button', { name: 'Change password' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await service.platform.get(`/v1/users/${id}/sessions`)).toMatchObject({ items: [] })
  })

  it('sees no action that the roles do not include, and the service refuses it too', async () => {
    const { page } = await signIn('auditor', 'console/settings/people')
    await page.getByRole('link', { name: 'hostile' }).click()
    await page.getByText('<img src=x onerror', { exact: false }).first().waitFor()
    for (const name of ['Disable person', 'Delete person', 'Change roles', 'End all sessions'])
      expect(await page.getByRole('button', { name }).count()).toBe(0)
    const status = await page.evaluate(async () => {
      const headers = { 'tollgate-console': '1', 'content-type': 'application/json' }
      const body = JSON.stringify({ username: 'eve', name: 'Eve' })
      return (await fetch('/console/api/v1/users', { method: 'POST', headers, body })).status
    })
    expect(status).toBe(403)
    await page.goto(`${service.baseUrl}/console/settings/signing-keys`)
    await page.getByText('There is no such page.').waitFor()
    await page.goto(`${service.baseUrl}/console/webhooks`)
    expect(await page.getByRole('button', { name: 'Create webhook' }).count()).toBe(0)
  })
})

describe('the views', () => {
  it('have no findings of axe, fit each width, and show hostile names as text', async () => {
    const { page, errors } = await signIn('owner')
    const { items } = await service.platform.get<{ items: { id: string; url: string }[] }>('/v1/eventsubscriptions')
    const { items: users } = await service.platform.get<{ items: { id: string; username: string }[] }>('/v1/users')
    const hostile = users.find(({ username }) => username === 'hostile')
    const settings = ['', '/people', `/people/${hostile?.id}`, '/roles', '/roles/watcher', '/identity-providers']
    const more = ['/signing-keys', '/organisations', '/audit', '/portal', '/me']
    for (const view of [
      ...[...settings, ...more].map((each) => `settings${each}`),
      'webhooks',
      `webhooks/${items[0]!.id}`,
    ]) {
      await page.goto(`${service.baseUrl}/console/${view}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expectUsable(page)
    }
    expect(await page.title()).not.toBe('1')
    expect(errors).toEqual([])
  })
})

it('no secret of the views is in the log of the service', () => {
  expect(service.output() + service.errors()).not.toMatch(/whsec_|password\?link=[\w-]{20,}.*Ada/)
})

it('a page of another origin cannot change anything through the session', async () => {
  const { context } = await signIn('owner')
  const [session] = (await context.cookies()).filter(({ name }) => name === 'tollgate-console')
  const headers = { cookie: `tollgate-console=${session!.value}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ enabled: false })
  const answer = await request(`${service.baseUrl}/console/api/v1/portal`, { method: 'PATCH', headers, body })
  expect(answer.statusCode).toBe(403)
  expect(await service.platform.get('/v1/portal')).toMatchObject({ enabled: true })
})
