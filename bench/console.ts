/**
 * How fast the console is: the time until its first page can be used, and its frames while the risk stream is busy.
 *
 * The first page is opened with a session and an empty cache; it is interactive when its heading is drawn, measured by the page itself
 * from the start of the navigation. Frames are the times between animation frames while the live list
 * gets events of the real gateway (`risk-load.ts`). A second reader counts the events that were published. Heap is what is left after
 * a collection.
 *
 *   BENCH_ROUNDS=9 BENCH_SECONDS=30 BENCH_EVENTS=200 node bench/console.ts
 */

import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { readEventStream } from '../src/interfaces/cli/event-stream.ts'
import { createPlatformClient, type PlatformClient } from '../src/interfaces/cli/platform-client.ts'
import { startService, type ServiceProcess } from '../src/interfaces/cli/service-process.ts'
import { describeMachine } from './machine.ts'
import { startRiskLoad } from './risk-load.ts'
import { percentile, spreadOf, toText } from './spread.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 9)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 30)
const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 200)
/** All episodes are open after one period of the load; by then their updates are evenly spread. */
const WARM_UP_MS = 25_000
const INTERACTIVE_MS_MAX = 1_000
const FRAME_MS_MAX = 50
const PASSWORD = 'nanoseconds are eleven inches'
const MEGABYTE = 1_048_576

/** A promise of the time at which the heading of a view is drawn, as the page measures it. */
const WATCH_HEADING = `globalThis.interactive = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector('main h1') === null) return
    observer.disconnect()
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
  }).observe(document, { childList: true, subtree: true })
})`
const START_FRAMES = `globalThis.frames = []; {
  let last = performance.now()
  const next = (now) => { globalThis.frames.push(now - last); last = now; requestAnimationFrame(next) }
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(next) })
}`

console.log(`machine: ${describeMachine()}`)
const service = await startService({ args: ['--empty'] })
const platform = createPlatformClient(service)
const browser = await chromium.launch({
  executablePath: execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
  args: ['--no-sandbox'],
})
try {
  const context = await signIn(browser, service, platform)
  await measureFirstPage(browser, context)
  await measureFrames(context)
} finally {
  await browser.close()
  await service.stop()
}

async function signIn(by: Browser, { baseUrl }: ServiceProcess, { post }: PlatformClient): Promise<BrowserContext> {
  await post('/v1/users', { username: 'grace', name: 'Grace', password: PASSWORD, roles: [{ role: 'admin' }] })
  const context = await by.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await page.goto(`${baseUrl}/console/`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('User name').fill('grace')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor()
  await page.close()
  return context
}

/** Each round has a context of its own, whose cache is empty. */
async function measureFirstPage(by: Browser, signedIn: BrowserContext): Promise<void> {
  const storageState = await signedIn.storageState()
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const context = await by.newContext({ viewport: { width: 1440, height: 900 }, storageState })
    const page = await context.newPage()
    await page.addInitScript(WATCH_HEADING)
    await page.goto(`${service.baseUrl}/console/`)
    times.push(await page.evaluate<number>('globalThis.interactive'))
    await context.close()
  }
  const spread = spreadOf(times)
  console.log(`first page interactive, ms:    ${toText(spread, 0)}  of ${ROUNDS} rounds, target ${INTERACTIVE_MS_MAX}`)
  if (spread.median > INTERACTIVE_MS_MAX) process.exitCode = 1
}

async function measureFrames(context: BrowserContext): Promise<void> {
  const load = await startRiskLoad({ ...service, platform, eventsPerSecond: EVENTS })
  const page = await context.newPage()
  await page.goto(`${service.baseUrl}/console/risks`)
  await sleep(WARM_UP_MS)
  const before = await heapOf(page)
  const published = await countEvents()
  await page.evaluate(START_FRAMES)
  await sleep(SECONDS * 1_000)
  const frames = (await page.evaluate<number[]>('globalThis.frames')).toSorted((a, b) => a - b)
  const events = published.stop()
  const rows = await page.locator('tbody tr').count()
  const after = await heapOf(page)
  const others = await load.stop()
  const p95 = percentile(frames, 95)
  console.log(
    `load:                          ${load.episodes} episodes, ${others} calls answered unexpectedly, ${rows} rows shown`,
  )
  console.log(`events published, per second:  ${(events / SECONDS).toFixed(0)}  over ${SECONDS} s`)
  console.log(
    `frames, ms:                    p50 ${percentile(frames, 50).toFixed(1)}, p95 ${p95.toFixed(1)}, longest ` +
      `${(frames.at(-1) ?? NaN).toFixed(1)}  of ${frames.length}, target p95 ${FRAME_MS_MAX}`,
  )
  console.log(`heap, MB:                      ${before.toFixed(1)} before, ${after.toFixed(1)} after`)
  if (p95 > FRAME_MS_MAX || events / SECONDS < EVENTS || others > 0) process.exitCode = 1
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.enable')
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / MEGABYTE
}

async function countEvents(): Promise<{ stop(): number }> {
  const controller = new AbortController()
  let events = 0
  const url = `${service.baseUrl}/v1/events/subscribe`
  const reading = readEventStream({
    url,
    token: await platform.token(),
    signal: controller.signal,
    onEvent: () => void events++,
  })
  reading.catch(() => undefined)
  return {
    stop() {
      controller.abort()
      return events
    },
  }
}
