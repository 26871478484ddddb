/**
 * `npm run demo`: sends mixed traffic through a gateway and shows live what the platform reports.
 *
 * Uses only the public API: for consumers, subscriptions, tokens, the bill and the risks.
 */

import { createPlatformClient } from './platform-client.ts'
import { createTally } from './demo-tally.ts'
import { createTraffic, TICK_MS } from './demo-traffic.ts'
import { drawLine, drawScreen } from './demo-screen.ts'
import { enrol } from './enrol.ts'
import { createInterrupt } from './io.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import { readDemoSettings, type DemoSettings } from './demo-settings.ts'
import { startService, type ServiceAddress, type ServiceProcess } from './service-process.ts'
import { startWatch } from './demo-watch.ts'
import type { DemoView } from './demo-view.ts'

const API = 'payments-v1'
const WINDOW_MS = 10_000
const DRAW_EVERY_TICKS = 5
const LINE_EVERY_TICKS = 100
const AGENT_SCOPES = ['payments:read', 'accounts:read']

async function run({ seconds }: DemoSettings, service: ServiceAddress, terminal: Terminal, signal: AbortSignal) {
  const { gatewayUrl, baseUrl } = service
  const platform = createPlatformClient(service)
  const suffix = Date.now().toString(36)
  const join = (name: string, kind: 'application' | 'agent', scopes?: readonly string[]) =>
    enrol({ platform, gatewayUrl, api: API, name: `${name}-${suffix}`, kind, ...(scopes && { scopes }) })
  // Line items are sums over windows; a range includes the windows that begin in it.
  const from = new Date(Date.now() - (Date.now() % WINDOW_MS))
  const shop = await join('shop', 'application')
  const treasury = await join('treasury', 'application')
  const agent = await join('concierge', 'agent', AGENT_SCOPES)

  const tally = createTally(performance.now())
  const names = new Map([shop, treasury, agent].map(({ consumer, name }) => [consumer, name]))
  const watch = startWatch({ platform, baseUrl, api: API, from, names, tally })
  const traffic = createTraffic({
    gatewayUrl,
    api: API,
    shop,
    treasury,
    agent,
    onOutcome: (outcome) => tally.called(outcome, performance.now()),
  })
  const view = (): DemoView =>
    tally.view(performance.now(), { secondsMax: seconds, gatewayUrl, trouble: watch.trouble() || troubleOf(traffic) })

  try {
    await everyTick(Math.round((seconds * 1000) / TICK_MS), signal, (tick) => {
      traffic.tick(tick)
      if (terminal.inPlace && tick % DRAW_EVERY_TICKS === 0) terminal.redraw(drawScreen(view(), terminal))
      else if (!terminal.inPlace && tick > 0 && tick % LINE_EVERY_TICKS === 0) terminal.print(drawLine(view()))
    })
    await watch.refresh()
    terminal.redraw(drawScreen(view(), terminal))
  } finally {
    watch.stop()
    await traffic.close()
  }
}

function troubleOf(traffic: { leftOut(): number }): string {
  const leftOut = traffic.leftOut()
  return leftOut > 0 ? `${leftOut} calls were skipped: too many without a response` : ''
}

function everyTick(ticks: number, signal: AbortSignal, onTick: (tick: number) => void): Promise<void> {
  return new Promise((resolve) => {
    let tick = 0
    const stop = (): void => {
      clearInterval(timer)
      resolve()
    }
    const timer = setInterval(() => {
      if (tick >= ticks) return stop()
      onTick(tick++)
    }, TICK_MS)
    signal.addEventListener('abort', stop, { once: true })
  })
}

const settings = readDemoSettings(process.argv.slice(2), process.env)
if (typeof settings === 'string') {
  process.stdout.write(settings)
  process.exit(process.argv.includes('--help') ? 0 : 2)
}

const interrupted = new AbortController()
const interrupt = createInterrupt(() => interrupted.abort())
process.on('SIGINT', interrupt)
process.on('SIGTERM', interrupt)
const terminal = openTerminal(process.stdout, process.env['NO_COLOR'] !== undefined)
let own: ServiceProcess | null = null
try {
  const service = settings.service ?? (own = await startService())
  await run(settings, service, terminal, interrupted.signal)
} catch (error) {
  process.exitCode = 1
  process.stderr.write(`demo: ${(error as Error).message}\n`)
} finally {
  terminal.close()
  await own?.stop()
}
