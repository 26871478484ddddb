/** People watch risks in the console as they happen, also while the service is away. */

// @module-tag chromium

import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useConsole } from './console-stage.ts'
import { misuse, openEpisode } from './risk-episodes.ts'
import type { Service } from './service.ts'

const MINUTE = 60_000
let service: Service

const { signIn } = useConsole({ env: { REQUEST_LOG: 'all' } }, (stage) => {
  ;({ service } = stage)
})

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

describe('the live list', () => {
  it('shows episodes as they happen; new ones wait while the pointer is on it', { timeout: 3 * MINUTE }, async () => {
    const first = await openEpisode(service, 'Early shop')
    const { page, errors } = await signIn('security', 'console/risks')
    const row = rowOf(page, 'Early shop')
    await row.getByRole('link', { name: 'DesignDrift' }).hover()
    await openEpisode(service, 'Late shop')
    // The score of the API may be a new episode as well.
    const waiting = page.getByRole('button', { name: /^[12] new$/ })
    await waiting.waitFor()
    expect(await rowOf(page, 'Late shop').count()).toBe(0)
    // A row changes in place meanwhile. Updates are sent every ten seconds at most.
    await misuse(service, first)
    await row.getByRole('cell', { name: '2', exact: true }).waitFor({ timeout: MINUTE })
    await waiting.click()
    await rowOf(page, 'Late shop').waitFor()
    expect(await waiting.count()).toBe(0)
    await page.getByLabel('API').fill('other-v1')
    await page.keyboard.press('Enter')
    await page.getByText('No episode passes the filters.').waitFor()
    expect(new URL(page.url()).searchParams.get('api')).toBe('other-v1')
    expect(errors).toEqual([])
  })

  it('says that the service is away, keeps its rows, and recovers without the person', async () => {
    await openEpisode(service, 'Before the stop')
    const { page } = await signIn('security', 'console/risks')
    await rowOf(page, 'Before the stop').waitFor()
    await service.stop()
    await page.getByText('Not live since', { exact: false }).waitFor()
    expect(await rowOf(page, 'Before the stop').count()).toBe(1)
    await service.start()
    await page.getByText('Not live since', { exact: false }).waitFor({ state: 'detached', timeout: 20_000 })
    await openEpisode(service, 'After the start')
    await rowOf(page, 'After the start').waitFor()
    expect(await rowOf(page, 'Before the stop').count()).toBe(1)
  })
})
