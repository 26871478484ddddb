/** Who signs people in: identity providers that are registered, changed and deleted in the console, and a second factor. */

// @module-tag chromium

import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { appCode } from '../fixtures/authenticator-app.ts'
import { enterLogin } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { CLIENT, startPeopleProvider, type PeopleProvider } from './people-provider.ts'
import type { Service } from './service.ts'
import { invite, PASSWORD } from './shared-client.ts'

const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
const STEP_MS = 30_000
let service: Service
let provider: PeopleProvider

const { signIn, open } = useConsole({ env: { ALLOW_PRIVATE_ADDRESSES: 'federation' } }, async (stage) => {
  ;({ service } = stage)
  provider = await startPeopleProvider()
  provider.people.set('ada', { name: HOSTILE, preferred_username: 'ada', groups: ['staff'] })
})

afterAll(() => provider.close())

const dialog = (page: Page) => page.getByRole('dialog')
const sectionsOf = (page: Page) => page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()

/** From the page of the console for strangers to the list of the providers of the organisation. */
async function askForProviders(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Continue with the provider of your organisation' }).click()
}

/** With the forms of the provider: a sign-in, and a consent. It asks for neither a second time. */
async function signInAtProvider(page: Page, { isKnown = false } = {}): Promise<void> {
  await askForProviders(page)
  await page.getByRole('button', { name: /Staff login/ }).click()
  if (!isKnown) {
    await page.locator('input[name=login]').fill('ada')
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }
  await page.getByText('Signed in as <img', { exact: false }).waitFor()
}

async function fillRole(page: Page, role: string): Promise<void> {
  await dialog(page).getByLabel('Claim', { exact: true }).fill('groups')
  await dialog(page).getByLabel('Value of the claim').fill('staff')
  await dialog(page).getByLabel('Role', { exact: true }).fill(role)
}

describe('an identity provider', () => {
  it('is registered, changed and deleted, and signs its people in to the console until then', async () => {
    const { page, errors } = await signIn('owner', 'console/settings/identity-providers')
    await page.getByRole('button', { name: 'Register provider' }).click()
    await dialog(page).getByLabel('Issuer').fill('http://127.0.0.1:1')
    await dialog(page).getByLabel('Signs people in').check()
    await dialog(page).getByLabel('Client id').fill(CLIENT.clientId)
    await dialog(page).getByLabel('Client secret').fill(CLIENT.clientSecret)
    await dialog(page).getByLabel('Name on the sign-in page').fill('Staff login')
    await dialog(page).getByLabel('Scopes').fill('profile, groups')
    await dialog(page)
      .getByLabel(/^A person who is not known/)
      .check()
    await fillRole(page, 'auditor')
    await expectUsable(page)
    await dialog(page).getByRole('button', { name: 'Register provider' }).click()
    // Nothing listens there.
    await dialog(page).getByRole('alert').waitFor()
    await dialog(page).getByLabel('Issuer').fill(provider.issuer)
    await dialog(page).getByRole('button', { name: 'Register provider' }).click()
    await page.getByText('The provider is registered.').waitFor()
    await page.getByRole('link', { name: provider.issuer }).click()
    await page.getByRole('heading', { level: 1, name: provider.issuer }).waitFor()
    const redirectUri = await page.getByRole('main').locator('button.id').first().getAttribute('title')
    provider.register(String(redirectUri).replace('Copy ', ''))
    expect(await page.content()).not.toContain(CLIENT.clientSecret)
    await expectUsable(page)

    const ada = await open('console/settings/audit?kind=identityprovider')
    await signInAtProvider(ada.page)
    await ada.page.getByRole('heading', { name: 'Audit log' }).waitFor()
    expect(new URL(ada.page.url()).search).toBe('?kind=identityprovider')
    expect(await sectionsOf(ada.page)).toContain('Risks')
    expect(await ada.page.title()).not.toBe('1')
    await ada.page.goto(`${service.baseUrl}/console/settings/me`)
    // The password and the second factor are those of the provider.
    await ada.page.getByRole('button', { name: 'Change name' }).waitFor()
    expect(await ada.page.getByRole('button', { name: /password|second factor/i }).count()).toBe(0)

    await page.getByRole('button', { name: 'Save provider' }).click()
    await dialog(page).getByLabel('Role', { exact: true }).fill('billing')
    await dialog(page).getByRole('button', { name: 'Save provider' }).click()
    await page.getByText('The provider is changed.').waitFor()
    await page.getByText('groups = staff: billing').waitFor()
    await ada.page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await signInAtProvider(ada.page, { isKnown: true })
    // The secret is the one that was entered first.
    await expect.poll(() => sectionsOf(ada.page)).not.toContain('Risks')

    await page.getByRole('button', { name: 'Delete provider' }).click()
    await dialog(page).getByText('are refused from now on', { exact: false }).waitFor()
    await dialog(page).getByRole('button', { name: 'Delete provider' }).click()
    await page.getByText('No external identity provider is registered.').waitFor()
    await ada.page.reload()
    await askForProviders(ada.page)
    await ada.page.getByRole('alert').getByText('This organisation offers no other way', { exact: false }).waitFor()
    expect([...errors, ...ada.errors]).toEqual([])
  })

  it('is shown without actions to a person who may only read', async () => {
    const { page } = await signIn('auditor', 'console/settings/identity-providers')
    await page.getByRole('heading', { name: 'Identity providers' }).waitFor()
    expect(await page.getByRole('button', { name: 'Register provider' }).count()).toBe(0)
  })
})

describe('a second factor', () => {
  it('is set up, asked for at the sign-in, replaced by a recovery code, and removed', async () => {
    const { username } = await invite(service, { role: 'auditor' })
    const { page, errors } = await open('console/settings/me')
    const enterSignIn = async (code: string): Promise<void> => {
      await page.getByRole('button', { name: 'Sign in' }).click()
      await enterLogin(page, username, PASSWORD)
      if (code === '') return
      await page.getByLabel('Code').fill(code)
      await page.getByRole('button', { name: 'Continue' }).click()
    }
    const signOut = () => page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await enterSignIn('')
    await page.getByRole('button', { name: 'Set up second factor' }).click()
    await dialog(page).getByRole('button', { name: 'Set up second factor' }).click()
    const secret = await dialog(page).locator('code').first().innerText()
    await dialog(page).getByLabel('Code that the app shows').fill('000000')
    await dialog(page).getByRole('button', { name: 'Confirm code' }).click()
    await dialog(page).getByRole('alert').waitFor()
    await dialog(page).getByLabel('Code that the app shows').fill(appCode(secret, Date.now()))
    await dialog(page).getByRole('button', { name: 'Confirm code' }).click()
    await dialog(page).getByText('They are shown now only.', { exact: false }).waitFor()
    const [first = '', second = ''] = (await dialog(page).locator('code').innerText()).split(' ')
    await expectUsable(page)
    await page.getByRole('button', { name: 'I have stored the codes' }).click()
    await page.getByText('authenticator app', { exact: true }).waitFor()
    expect(await page.content()).not.toContain(first)

    await signOut()
    await enterSignIn('000000')
    await page.getByRole('alert').waitFor()
    // The step after the present one is accepted as well, and used for the first time.
    await page.getByLabel('Code').fill(appCode(secret, Date.now() + STEP_MS))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'My account' }).waitFor()
    await signOut()
    await enterSignIn(first)
    await page.getByRole('heading', { name: 'My account' }).waitFor()

    await page.getByRole('button', { name: 'Remove second factor' }).click()
    await dialog(page).getByLabel('Code that the app shows').fill(first)
    await dialog(page).getByRole('button', { name: 'Remove second factor' }).click()
    // A recovery code works once.
    await dialog(page).getByRole('alert').waitFor()
    await dialog(page).getByLabel('Code that the app shows').fill(second)
    await dialog(page).getByRole('button', { name: 'Remove second factor' }).click()
    await page.getByText('The second factor is removed.').waitFor()
    await signOut()
    await enterSignIn('')
    await page.getByRole('button', { name: 'Set up second factor' }).waitFor()
    expect(errors).toEqual([])
    const log = service.output() + service.errors()
    expect([log.includes(secret), log.includes(first)]).toEqual([false, false])
  })
})
