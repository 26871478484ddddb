/** Visits of people to the console in a real browser, and what every view must hold: no finding of axe, no scroll bar at the side. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { pathOf } from '../programs.ts'
import { keepingChildren } from '../runner/kept-processes.ts'
import { logIn } from './console-keyboard.ts'
import type { Service } from './service.ts'
import { invite, type Role } from './shared-client.ts'

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the page, and what its policy has blocked. */
  readonly errors: readonly string[]
}

export interface SignedIn extends Visit {
  /** Of the person. */
  readonly id: string
}

export interface Visits {
  open(this: void, path?: string): Promise<Visit>
  /** Invites a person with a role, who signs in on the page that `path` shows to a stranger. */
  signIn(this: void, role: string | Role, path?: string): Promise<SignedIn>
}

const WAIT_MS = 10_000
const WIDTHS = [1440, 1024, 360]
/** Is answered as long as the page is open. */
const STREAM = /\/v1\/events\/subscribe/
/** What a page has drawn and asked for by then follows from what it has. */
const TWO_FRAMES =
  'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))'
const awaited = new WeakMap<Page, ReadonlySet<Request>>()
/** The themes differ in colours only. */
const RULES = { light: {}, dark: { runOnly: ['color-contrast', 'link-in-text-block'] } } as const
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let shared: Browser | null = null

/** Returns the browser of this worker, which ends with it. What a visit leaves is in a context of its own. */
export async function workerBrowser(): Promise<Browser> {
  if (!shared?.isConnected()) shared = await keepingChildren(launchBrowser)
  return shared
}

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOf('chromium'),
    args: ['--no-sandbox', '--disable-gpu', '--disable-software-rasterizer', '--renderer-process-limit=1'],
  })
}

/** The service may be started later than this call. */
export function createVisits(find: () => { readonly service: Service; readonly browser: Browser }): Visits {
  async function open(path = ''): Promise<Visit> {
    const { browser, service } = find()
    // To draw what moves takes an eighth of the processor time of these tests.
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })
    onTestFinished(() => context.close())
    context.setDefaultTimeout(WAIT_MS)
    const page = await context.newPage()
    awaited.set(page, requestsOf(page))
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(String(error)))
    page.on('console', (message) => {
      // A refused call is part of the page's life.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        errors.push(message.text())
    })
    await page.goto(`${service.baseUrl}/${path}`)
    return { page, context, errors }
  }

  async function signIn(role: string | Role, path = ''): Promise<SignedIn> {
    const { id, username } = await invite(find().service, typeof role === 'string' ? { role } : role)
    const visit = await open(path)
    const { page } = visit
    await logIn(page, username!)
    return { ...visit, id }
  }

  return { open, signIn }
}

/** Requests that are not answered yet. */
function requestsOf(page: Page): ReadonlySet<Request> {
  const requests = new Set<Request>()
  page.on('request', (request) => {
    if (!STREAM.test(request.url())) requests.add(request)
  })
  page.on('requestfinished', (request) => requests.delete(request))
  page.on('requestfailed', (request) => requests.delete(request))
  return requests
}

/** Resolves when the view has all that it asked for. */
async function settled(page: Page): Promise<void> {
  const open = async () => {
    await page.evaluate(TWO_FRAMES)
    return [...(awaited.get(page) ?? [])].map((request) => request.url())
  }
  await expect.poll(open, { timeout: WAIT_MS, interval: 10 }).toEqual([])
}

/** Checks the view that the page shows, when it is complete, in both themes and at three widths. */
export async function expectUsable(page: Page): Promise<void> {
  await settled(page)
  const view = new URL(page.url()).pathname
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    expect({ view, scheme, found: await violationsOf(page, RULES[scheme]) }).toEqual({ view, scheme, found: [] })
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect({ view, width, overflow }).toEqual({ view, width, overflow: 0 })
  }
  await page.setViewportSize({ width: 1440, height: 900 })
}

/** The policy of the page lets no test add a script element, so that the text is evaluated: once, and never for its value, which is large. */
async function violationsOf(page: Page, rules: object): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(AXE)
  return page.evaluate(async (options) => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; nodes: object[] }[] }> }
    }
    const { violations } = await axe.run({ resultTypes: ['violations'], ...options })
    return violations.map(({ id, nodes }) => `${id} ${JSON.stringify(nodes).slice(0, 600)}`)
  }, rules)
}
