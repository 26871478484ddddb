/** Search and commands, the first owner, and the reader's time zone. */

// @module-tag chromium

import type { Browser, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { createService, type Service } from './service.ts'
import { PASSWORD } from './shared-client.ts'

const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
const LONG = `long ${'W'.repeat(120)}`
let service: Service
let browser: Browser

const { signIn } = useConsole({}, async (stage) => {
  ;({ service, browser } = stage)
  for (const name of ['Shop', HOSTILE, LONG])
    await service.platform.post('/v1/consumers', { name, kind: 'application' })
})
const options = (page: Page) => page.getByRole('option')

describe('the palette', () => {
  it('opens with the keyboard, finds by name, and leads to what is chosen', async () => {
    const { page, errors } = await signIn('admin')
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Search' })
    await expect.poll(() => page.evaluate('document.activeElement?.role')).toBe('combobox')
    await expectUsable(page)
    await page.keyboard.type('sho')
    await options(page).filter({ hasText: 'Shop' }).waitFor()
    const active = async () => page.locator(`[id="${await field.getAttribute('aria-activedescendant')}"]`).innerText()
    while (!(await active()).includes('Consumer')) await page.keyboard.press('ArrowDown')
    expect(await active()).toContain('Shop')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/consumers\/con_/)
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('invite p')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Invite person' }).waitFor()
    expect(errors).toEqual([])
  })

  it('opens again at once after it was closed', async () => {
    const { page } = await signIn('admin')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).waitFor()
    // The key comes before the browser reports the closed dialog.
    await page.evaluate(`(async () => {
      document.querySelector('dialog[open]').requestClose()
      await Promise.resolve()
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }))
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    })()`)
    expect(await page.getByRole('combobox', { name: 'Search' }).count()).toBe(1)
  })

  it('shows hostile and long names as text, also on a phone by its button', async () => {
    const { page, errors } = await signIn('admin')
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByRole('button', { name: 'Search' }).click()
    await page.keyboard.type('<img')
    await options(page).getByText('<img src=x onerror', { exact: false }).waitFor()
    await page.getByRole('combobox', { name: 'Search' }).fill('long')
    await options(page).getByText('WWWW', { exact: false }).waitFor()
    await expectUsable(page)
    await page.getByRole('combobox', { name: 'Search' }).fill('nothing begins so')
    await page.getByText('Nothing begins with this.').waitFor()
    expect(await page.title()).not.toBe('1')
    expect(errors).toEqual([])
  })

  it('offers only what the roles include', async () => {
    const { page } = await signIn('billing')
    await page.keyboard.press('Control+k')
    const texts = await options(page).allInnerTexts()
    for (const title of ['Invite person', 'Create webhook', 'People', 'Audit log'])
      expect(texts.filter((text) => text.startsWith(title))).toEqual([])
    await page.keyboard.type('person-')
    await page.getByText('Nothing begins with this.').waitFor()
  })
})

describe('the first owner', () => {
  it('sets a password with the link of the first start, and is one click from the console', async () => {
    const fresh = await createService({ args: ['--empty'] })
    try {
      await fresh.start()
      const [link = ''] = /http:\/\/\S+\/oauth2\/v2\/password\?link=\S+/.exec(fresh.output() + fresh.errors()) ?? []
      expect(link).not.toBe('')
      const page = await browser.newPage()
      await page.goto(link)
      await page.getByLabel('New password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Set password' }).click()
      await page.getByRole('link', { name: 'sign in to the console' }).click()
      await page.getByLabel('User name').fill('owner')
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Signed in as Owner').waitFor()
      await page.close()
    } finally {
      await fresh.remove()
    }
  })
})

describe('times', () => {
  it.each(['Pacific/Auckland', 'America/Los_Angeles'])(
    'are in the zone of the reader, %s, with UTC on hover',
    async (timezoneId) => {
      const { page, context } = await signIn('owner')
      const elsewhere = await browser.newContext({ timezoneId, storageState: await context.storageState() })
      try {
        const view = await elsewhere.newPage()
        await view.goto(`${service.baseUrl}/console/settings/signing-keys`)
        const times = view.locator('tbody time')
        await times.first().waitFor()
        const found = await times.evaluateAll((all) =>
          all.map((each) => [each.getAttribute('datetime'), each.getAttribute('title'), each.textContent]),
        )
        for (const [at, title] of found) expect(title).toBe(`${String(at).slice(0, 19).replace('T', ' ')} UTC`)
        const zone = await view.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
        expect(zone).toBe(timezoneId)
        await page.close()
      } finally {
        await elsewhere.close()
      }
    },
  )
})
