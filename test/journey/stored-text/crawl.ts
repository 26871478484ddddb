/** Visits every view that a person reaches by links, and opens its dialogs. Nothing is changed: the page cannot send changes. */

import type { Page, Request } from 'playwright-core'

const VIEWS_MAX = 160
/** Views that differ in the object only. */
const OF_SHAPE_MAX = 2
const BUTTONS_MAX = 6
const WIDTHS = [1440, 360]
const ENOUGH_MS = 10_000
/** Changes that store nothing. */
const TRIALS = /\/(?:explain|validate)$/

export interface Crawl {
  /** Paths with their queries, in the order of the visits. */
  readonly views: readonly string[]
  /** Texts of all views. */
  readonly text: string
}

/** Visits `first` and all that links lead to. `check` is called for each state of a view. */
export async function crawl(page: Page, first: readonly string[], check: () => Promise<void>): Promise<Crawl> {
  await page.route('**/console/**', (route, request) => (isChange(request) ? route.abort() : route.fallback()))
  const settle = watchReads(page)
  const waiting = [...first]
  const shapes = new Map<string, number>()
  const views: string[] = []
  const texts: string[] = []
  for (let next = waiting.shift(); next !== undefined && views.length < VIEWS_MAX; next = waiting.shift()) {
    const shape = shapeOf(next)
    const count = shapes.get(shape) ?? 0
    if (views.includes(next) || count >= OF_SHAPE_MAX) continue
    shapes.set(shape, count + 1)
    views.push(next)
    await goTo(page, next)
    await settle()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      await check()
    }
    await page.setViewportSize({ width: WIDTHS[0]!, height: 900 })
    texts.push(await page.locator('body').innerText())
    waiting.push(...(await linksOf(page)))
    if (count === 0) await openDialogs(page, settle, check)
  }
  return { views, text: texts.join('\n') }
}

function isChange(request: Request): boolean {
  return request.method() !== 'GET' && !TRIALS.test(new URL(request.url()).pathname)
}

/** Like a click on a link, without a new start of the console for each view. */
async function goTo(page: Page, view: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(view)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
}

async function linksOf(page: Page): Promise<readonly string[]> {
  const links = await page
    .locator('a[href^="/console/"]')
    .evaluateAll((all) => all.map((each) => each.getAttribute('href') ?? ''))
  return links.map((each) => each.replace(/#.*/, '')).filter((each) => !each.startsWith('/console/api/'))
}

/** Two views are of one shape if they differ in identifiers, and in filters. */
function shapeOf(view: string): string {
  const { pathname } = new URL(view, 'http://console')
  return pathname.replaceAll(/\/[a-z]+_[0-9a-z]{20,}/g, '/*').replace(/\/requests\/[0-9a-f]{24}$/, '/requests/*')
}

/** Buttons that copy an id open nothing. */
async function openDialogs(page: Page, settle: () => Promise<void>, check: () => Promise<void>): Promise<void> {
  const buttons = page.locator('main button:not(.id):visible:enabled')
  const count = Math.min(await buttons.count(), BUTTONS_MAX)
  const view = page.url()
  for (let index = 0; index < count; index++) {
    // A button may be gone by now, or lie below another element: those that remain count.
    await buttons
      .nth(index)
      .click({ timeout: 500 })
      .catch(() => undefined)
    await settle()
    await check()
    if ((await page.locator('dialog[open]').count()) > 0) await page.keyboard.press('Escape')
    if (page.url() !== view) await goTo(page, view)
  }
}

/** Returns what waits until the page has all answers that it asked for, and has shown them. */
function watchReads(page: Page): () => Promise<void> {
  const open = new Set<Request>()
  const isRead = (request: Request): boolean =>
    request.url().includes('/console/') && request.headers()['accept'] !== 'text/event-stream'
  page.on('request', (request) => void (isRead(request) && open.add(request)))
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', (request) => void open.delete(request))
  const rendered = () =>
    page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  return async () => {
    const until = Date.now() + ENOUGH_MS
    do await rendered()
    while (open.size > 0 && Date.now() < until)
    await rendered()
  }
}
