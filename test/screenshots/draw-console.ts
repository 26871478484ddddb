/**
 * `npm run screenshots:console`: sends the traffic of the demo to a real service, opens the main views of the console, and writes their
 * pictures to `docs/console/`, light and dark.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { logIn } from '../journey/console-keyboard.ts'
import { launchBrowser } from '../journey/console-visit.ts'
import { createService, type Service } from '../journey/service.ts'
import { invite } from '../journey/shared-client.ts'

interface Picture {
  readonly name: string
  /** Of the view. */
  readonly path: (page: Page) => Promise<string>
}

const ROOT = join(import.meta.dirname, '../..')
const PICTURES = process.env['PICTURES'] ?? join(ROOT, 'docs/console')
const SCHEMES = (process.env['SCHEMES'] ?? 'light dark').split(' ') as readonly ('light' | 'dark')[]
const WIDTH = Number(process.env['WIDTH'] ?? 1440)
const DEMO_SECONDS = process.env['DEMO_SECONDS'] ?? '45'
const SETTLED_MS = 1_500
/** Charts follow the theme. */
const REDRAWN_MS = 300

const VIEWS: readonly Picture[] = [
  at('overview', ''),
  at('risks', 'risks'),
  { name: 'episode', path: (page) => firstLink(page, 'risks/episodes?type=ProtectionViolation') },
  at('api', 'apis/payments-v1'),
  at('try', 'apis/payments-v1/try/listPayments'),
  at('declaration', 'apis/payments-v1/declarations'),
  at('service-level', 'apis/payments-v1/service-level'),
  { name: 'consumer', path: (page) => firstLink(page, 'consumers?name=shop') },
  at('usage', 'usage'),
  { name: 'statement', path: statementPath },
  { name: 'explain', path: (page) => firstLink(page, 'requests?outcome=rate_limited') },
  at('people', 'settings/people'),
  at('health', 'settings/health'),
]

const service = await createService({ env: { REQUEST_LOG: 'all' } })
try {
  await service.start()
  await sendDemo(service)
  mkdirSync(PICTURES, { recursive: true })
  await drawAll()
} finally {
  await service.remove()
}

function at(name: string, path: string): Picture {
  return { name, path: async () => path }
}

async function firstLink(page: Page, section: string): Promise<string> {
  await page.goto(`${service.baseUrl}/console/${section}`)
  const link = page.locator('main tbody th a').first()
  await link.waitFor()
  return (await link.getAttribute('href'))?.replace('/console/', '') ?? ''
}

async function statementPath(): Promise<string> {
  const { items } = await service.platform.get<{ items: { customer: string; from: string }[] }>('/v1/summaries')
  const [first] = items
  return `usage/statements?consumer=${first?.customer ?? ''}&month=${new Date().toISOString().slice(0, 7)}`
}

async function sendDemo({ gatewayUrl, baseUrl }: Service): Promise<void> {
  const env = {
    ...process.env,
    ADMIN_CLIENT_ID: 'journey-admin',
    ADMIN_CLIENT_SECRET: 'journey-admin-secret-0123456789',
  }
  const args = ['--seconds', DEMO_SECONDS, '--gateway-url', gatewayUrl, '--base-url', baseUrl]
  const demo = spawn(process.execPath, [join(ROOT, 'src/interfaces/cli/demo.ts'), ...args], { env, stdio: 'inherit' })
  const [code] = (await once(demo, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`the demo ended with ${code}`)
}

async function drawAll(): Promise<void> {
  const browser = await launchBrowser()
  try {
    const { username } = await invite(service, { role: 'owner' })
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 900 }, deviceScaleFactor: 1 })
    await page.goto(service.baseUrl)
    await logIn(page, username!)
    for (const { name, path } of VIEWS) {
      await page.goto(`${service.baseUrl}/console/${await path(page)}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForTimeout(SETTLED_MS)
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme })
        await page.waitForTimeout(REDRAWN_MS)
        await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`) })
      }
    }
  } finally {
    await browser.close()
  }
}
