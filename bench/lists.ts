/**
 * What the views of the console read of a large catalogue: the time and the items of each call of the platform API, as the page
 * makes them.
 *
 * A person opens each view in a real browser, round by round, with a session and nothing kept by the page. The data folder is filled by
 * copying what the public API made (`stock.ts`), or it is one that an earlier run has kept.
 *
 *   BENCH_APIS=10000 BENCH_CONSUMERS=100000 BENCH_SUBSCRIPTIONS=1000000 BENCH_ROUNDS=10 [BENCH_DATA=folder to keep] node bench/lists.ts
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type BrowserContext, type Page, type Request } from 'playwright-core'
import { createPlatformClient } from '../src/interfaces/cli/platform-client.ts'
import { startService, type ServiceProcess } from '../src/interfaces/cli/service-process.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'
import { stock } from './stock.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { startSubject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 10)
const SIZE = {
  apis: Number(process.env['BENCH_APIS'] ?? 10_000),
  consumers: Number(process.env['BENCH_CONSUMERS'] ?? 100_000),
  subscriptions: Number(process.env['BENCH_SUBSCRIPTIONS'] ?? 1_000_000),
}
/** The views whose addresses match. */
const VIEWS = new RegExp(process.env['BENCH_VIEWS'] ?? '')
const KEPT = process.env['BENCH_DATA']
const CLIENT_SECRET = 'a secret for the length of a bench'
const PASSWORD = 'nanoseconds are eleven inches'
const START_MS_MAX = 600_000
const VIEW_MS_MAX = 60_000
/** A view is read when it has made no call for this time. */
const QUIET_MS = 400
const MEDIAN_MS_MAX = 300
const ITEMS_MAX = 500

interface Sample {
  readonly ms: number
  readonly items: number
}

const dataDir = KEPT ?? mkdtempSync(join(tmpdir(), 'tollgate-lists-'))
console.log(`machine: ${describeMachine()}`)
const startup = { dataDir, clientSecret: CLIENT_SECRET, startMsMax: START_MS_MAX }
if (!existsSync(join(dataDir, 'registry.db'))) await fill()
const service = await startService({ args: ['--empty'], ...startup })
const browser = await chromium.launch({
  executablePath: execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
  args: ['--no-sandbox'],
})
try {
  const context = await signIn(service)
  let isMissed = false
  for (const [view, search] of Object.entries(await viewsOf(service))) {
    if (!VIEWS.test(view)) continue
    for (const [call, samples] of await measure(context, view, search)) {
      const spread = spreadOf(samples.map(({ ms }) => ms))
      const items = Math.max(...samples.map((each) => each.items))
      isMissed ||= spread.median > MEDIAN_MS_MAX || items > ITEMS_MAX
      console.log(`| ${view} | ${call} | ${samples.length} | ${items} | ${toText(spread, 1)} |`)
    }
  }
  if (isMissed) process.exitCode = 1
} finally {
  await browser.close()
  await service.stop()
  if (KEPT === undefined) rmSync(dataDir, { recursive: true, force: true })
}

async function fill(): Promise<void> {
  const workbench = await openWorkbench()
  const { service: maker, enrolment } = await startSubject(workbench.backendPort, startup)
  await maker.stop()
  await workbench.close()
  const startedMs = performance.now()
  await stock({ path: join(dataDir, 'registry.db'), api: BENCH_API, subscription: enrolment.subscription, ...SIZE })
  console.log(`stocked in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}

async function signIn(to: ServiceProcess): Promise<BrowserContext> {
  const { post } = createPlatformClient(to)
  const username = `grace-${Date.now()}`
  await post('/v1/users', { username, name: 'Grace', password: PASSWORD, roles: [{ role: 'owner' }] })
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  context.setDefaultTimeout(VIEW_MS_MAX)
  const page = await context.newPage()
  await page.goto(`${to.baseUrl}/console/`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor()
  await page.close()
  return context
}

/** The address of each view, and the text that is typed into the palette; `''`: none. */
async function viewsOf(of: ServiceProcess): Promise<Readonly<Record<string, string>>> {
  const { get } = createPlatformClient(of)
  const { items } = await get<{ items: { id: string; consumer: string }[] }>(
    `/v1/subscriptions?api=${BENCH_API}&limit=9`,
  )
  const { id = '', consumer = '' } = items.at(-1) ?? {}
  return {
    '': '',
    apis: '',
    'apis?state=Active': '',
    'apis?name=bench99': '',
    'apis/staged': '',
    [`apis/${BENCH_API}`]: '',
    [`apis/${BENCH_API}/deprecation`]: '',
    consumers: '',
    'consumers?kind=application&state=Active': '',
    'consumers?name=bench 99': '',
    [`consumers/${consumer}`]: '',
    subscriptions: '',
    'subscriptions?state=Active': '',
    [`subscriptions?ApiId=${BENCH_API}&state=Active`]: '',
    'subscriptions/approvals': '',
    'subscriptions/waiting': '',
    [`subscriptions/${id}`]: '',
    products: '',
    requests: '',
    'risks/episodes': '',
    usage: '',
    'governance/programmes': '',
    'settings/people': '',
    'settings/audit': '',
    'products?palette=api': 'bench9',
    'products?palette=consumer': 'bench 999',
    'products?palette=id': 'sub_',
  }
}

async function measure(
  context: BrowserContext,
  view: string,
  search: string,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map<string, Sample[]>()
  for (let round = -1; round < ROUNDS; round++) {
    const page = await context.newPage()
    const calls = await open(page, view, search)
    await page.close()
    // The first round warms the caches of the service and of the disk.
    if (round === -1) continue
    for (const [name, sample] of calls) samples.set(name, [...(samples.get(name) ?? []), sample])
  }
  return samples
}

async function open(page: Page, view: string, search: string): Promise<readonly (readonly [string, Sample])[]> {
  const found: Promise<readonly [string, Sample]>[] = []
  const awaited = new Set<Request>()
  let lastMs = performance.now()
  const settle = (request: Request): void => {
    awaited.delete(request)
    lastMs = performance.now()
  }
  page.on('request', (request) => {
    const isStream = request.url().includes('/subscribe')
    if (!isStream) awaited.add(request)
  })
  page.on('requestfailed', settle)
  page.on('requestfinished', (request) => {
    settle(request)
    if (request.url().includes('/console/api/')) found.push(sampleOf(request))
  })
  await page.goto(`${service.baseUrl}/console/${view}`)
  await page
    .getByRole('heading', { level: 1 })
    .first()
    .waitFor()
    .catch(async (cause: unknown) => {
      throw new Error(`${view} shows: ${await page.locator('body').innerText()}`, { cause })
    })
  if (search !== '') {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill(search)
    await page.getByRole('option').first().waitFor()
    lastMs = performance.now() + QUIET_MS
  }
  while (awaited.size > 0 || performance.now() - lastMs < QUIET_MS) await page.waitForTimeout(QUIET_MS / 8)
  return Promise.all(found)
}

async function sampleOf(request: Request): Promise<readonly [string, Sample]> {
  const response = await request.response()
  const { pathname, searchParams } = new URL(request.url())
  const names = [...searchParams.keys()].join(' ')
  const { requestStart, responseEnd } = request.timing()
  const body: unknown = response?.status() === 200 ? await response.json().catch(() => null) : null
  return [
    `${String(response?.status())} ${pathname.replace('/console/api', '')}${names === '' ? '' : ` (${names})`}`,
    { ms: responseEnd - requestStart, items: itemsOf(body) },
  ]
}

/** The longest list in an answer. */
function itemsOf(body: unknown): number {
  if (typeof body !== 'object' || body === null) return 0
  const inner = Object.values(body).map(itemsOf)
  return Math.max(Array.isArray(body) ? body.length : 0, ...inner)
}
