/** An operator sees in the console which nodes are live and alike, and removes one that does not return. */

// @module-tag chromium
// @module-tag postgres
// @module-tag redis-server

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ownPort, ownUrl } from '../fixtures/own-address.ts'
import { createVisits, expectUsable, workerBrowser } from './console-visit.ts'
import { createService, type Service } from './service.ts'
import { startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const MINUTE = 60_000
/** A node is silent after five seconds, and the page is refreshed every five. */
const SEEN_MS = 30_000
let several: SeveralNodes
let other: Service
let browser: Browser

const { signIn } = createVisits(() => ({ service: several.nodes[0]!, browser }))

beforeAll(async () => {
  browser = await workerBrowser()
  const ports = await Promise.all([ownPort(), ownPort()])
  const [GATEWAY_URL, BASE_URL] = ports.map((port) => ownUrl(port)) as [string, string]
  several = await startSeveralNodes(['a'], { GATEWAY_URL, BASE_URL }, { ports })
  other = await createService({ args: ['--empty'], env: { ...several.settings, NODE_NAME: 'b', REQUEST_LOG: 'all' } })
}, 2 * MINUTE)

afterAll(async () => {
  await other?.remove()
  await several?.remove()
})

const rowOf = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) })

it('the list of nodes shows one that joins, differs, dies and is removed', async () => {
  const { page, errors } = await signIn('owner', 'console/settings/health')
  await page.getByRole('link', { name: 'All nodes' }).click()
  await page.getByText('This service runs as one node.', { exact: false }).waitFor()
  await rowOf(page, 'a').getByText('(answers)').waitFor()

  await other.start()
  await rowOf(page, 'b').getByText('REQUEST_LOG').waitFor({ timeout: SEEN_MS })
  await rowOf(page, 'b').getByText('Live').waitFor()
  expect(await rowOf(page, 'a').getByText('REQUEST_LOG').count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Remove node' }).count()).toBe(0)

  await other.kill()
  await rowOf(page, 'b').getByText('Silent for', { exact: false }).waitFor({ timeout: SEEN_MS })
  await expectUsable(page)
  const { page: observed } = await signIn('admin', 'console/settings/nodes')
  await rowOf(observed, 'b').getByText('Silent for', { exact: false }).waitFor()
  expect(await observed.getByRole('button', { name: 'Remove node' }).count()).toBe(0)

  await rowOf(page, 'b').getByRole('button', { name: 'Remove node' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('no answer says that it lacks a revocation', { exact: false }).waitFor()
  await expectUsable(page)
  await dialog.getByRole('button', { name: 'Remove node' }).click()
  await page.getByText('The node b is removed from the list.').waitFor()
  await rowOf(page, 'b').waitFor({ state: 'detached' })
  expect(errors).toEqual([])

  await several.postgres.stop()
  await page.getByText('This could not be loaded.', { exact: false }).waitFor({ timeout: SEEN_MS })
  expect(await rowOf(page, 'a').count()).toBe(1)
  await several.postgres.start()
  await page.getByText('This could not be loaded.', { exact: false }).waitFor({ state: 'detached', timeout: SEEN_MS })
})
