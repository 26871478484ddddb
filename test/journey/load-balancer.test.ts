/**
 * Two services behind HAProxy with `deploy/haproxy.cfg`.
 *
 * The second service is a copy of the first one's stopped folder: both know the same API and the same caller. This shows what the load
 * balancer does; `rolling-upgrade.test.ts` has nodes that share their state.
 */

// @module-tag haproxy

import { cpSync, mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freeHaproxyPorts, startHaproxy, type Haproxy } from '../fixtures/haproxy.ts'
import { ownUrl } from '../fixtures/own-address.ts'
import { createService, enrol, isEmbedded, publish, type Service } from './service.ts'
import { CLIENTS, more, startTraffic, WITHIN, type Traffic } from './steady-clients.ts'
import { document, listen } from './things-api.ts'

let backend: Server
let first: Service
let second: Service
let haproxy: Haproxy
let apiKey: string
const seenForwarded = new Set<string>()

const portsOf = ({ gatewayUrl, baseUrl }: Service) => ({
  gateway: Number(new URL(gatewayUrl).port),
  platform: Number(new URL(baseUrl).port),
})

beforeAll(async () => {
  backend = createServer((incoming: IncomingMessage, response) => {
    seenForwarded.add(String(incoming.headers['x-forwarded-for']))
    incoming.resume().on('end', () => response.end('{}'))
  })
  const url = await listen(backend)
  const ports = await freeHaproxyPorts()
  const env = {
    STOP_DELAY_SECONDS: '4',
    TRUSTED_PROXIES: '127.0.0.1',
    GATEWAY_URL: ownUrl(ports[0]),
    BASE_URL: ownUrl(ports[1]),
  }
  first = await createService({ args: ['--empty'], env })
  await first.start()
  await publish(first, 'things-v1', document('Things'), url)
  apiKey = (await enrol(first, 'things-v1')).apiKey
  await first.stop()
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-journey-'))
  cpSync(first.dataDir, dataDir, { recursive: true })
  second = await createService({ args: ['--empty'], env, dataDir })
  await Promise.all([first.start(), second.start()])
  haproxy = await startHaproxy(ports, [portsOf(first), portsOf(second)])
})

afterAll(async () => {
  await haproxy.stop()
  await Promise.all([first.remove(), second.remove()])
  backend.closeAllConnections()
  backend.close()
})

const startBoth = (): Traffic => startTraffic({ gatewayUrl: haproxy.gatewayUrl, apiKey, methods: ['GET', 'POST'] })

async function sessionsOfFirst(): Promise<number> {
  const { body } = await request(haproxy.metricsUrl)
  const line = /^haproxy_server_current_sessions\{proxy="gateway",server="node1"\} (\d+)$/m.exec(await body.text())
  return Number(line?.[1] ?? NaN)
}

async function statusOf(url: string): Promise<number> {
  const { statusCode, body } = await request(url)
  await body.dump()
  return statusCode
}

describe.skipIf(!isEmbedded)(
  'HAProxy in front of two services (needs the registry and the store in the folder)',
  () => {
    it('loses no call while one of them is drained, stopped and started', async () => {
      const traffic = startBoth()
      await expect.poll(() => traffic.starts.size, WITHIN).toBe(2)
      await haproxy.command('set server gateway/node1 state drain')
      await expect.poll(sessionsOfFirst, WITHIN).toBe(0)
      await first.stop()
      await more(traffic, 200)
      await first.start()
      await haproxy.command('set server gateway/node1 state ready')
      await expect.poll(() => traffic.starts.size, WITHIN).toBe(3)
      await traffic.stop()
      expect(traffic.failures).toEqual([])
    })

    it('loses no call while one of them is stopped, because it says so before it closes its ports', async () => {
      const traffic = startBoth()
      await expect.poll(() => traffic.starts.size, WITHIN).toBe(2)
      const stopped = first.stop()
      await expect.poll(() => statusOf(`${first.baseUrl}/readyz`), WITHIN).toBe(503)
      await stopped
      await more(traffic, 200)
      await first.start()
      await expect.poll(() => traffic.starts.size, WITHIN).toBe(3)
      await traffic.stop()
      expect(traffic.failures).toEqual([])
    })

    it('loses no more calls than those in flight when one of them is killed', async () => {
      const traffic = startBoth()
      await expect.poll(() => traffic.starts.size, WITHIN).toBe(2)
      await first.kill()
      await more(traffic, 200)
      await first.start()
      await expect.poll(() => traffic.starts.size, WITHIN).toBe(3)
      await traffic.stop()
      expect(traffic.failures.length).toBeLessThanOrEqual(CLIENTS)
    })

    it('hides the metrics of the services', async () => {
      for (const path of ['/metrics', '/metrics/', '/METRICS', '//metrics', '/%6detrics', '/./metrics']) {
        const { statusCode, body } = await request(`${haproxy.platformUrl}${path}`)
        expect([path, statusCode, (await body.text()).includes('tollgate_')]).toEqual([path, 404, false])
      }
    })

    it('has, together with a service, every metric that the dashboard and the alerts name', async () => {
      const addresses = [haproxy.metricsUrl, `${first.baseUrl}/metrics`]
      const pages = await Promise.all(addresses.map(async (url) => (await request(url)).body.text()))
      const known = new Set(pages.flatMap((page) => [...page.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name)))
      const files = ['grafana/dashboards/tollgate.json', 'prometheus-rules.yml']
      const texts = files.map((file) => readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8'))
      const named = texts.flatMap((text) => text.match(/\b(?:tollgate|haproxy)_[a-z_]+/g) ?? [])
      expect(new Set(named).size).toBeGreaterThan(8)
      expect(named.filter((name) => !known.has(name))).toEqual([])
    })

    it('logs no query strings, which may contain secrets', async () => {
      const { body } = await request(`${haproxy.gatewayUrl}/oauth2/v2/password?link=usr_1.the-secret-of-a-link`)
      await body.dump()
      await expect.poll(haproxy.log).toContain('"/oauth2/v2/password"')
      expect(haproxy.log()).not.toContain('the-secret')
    })

    it('names the client of every call, whatever the client says', async () => {
      seenForwarded.clear()
      const dispatcher = new Agent({ localAddress: '127.0.0.3' })
      onTestFinished(() => dispatcher.close())
      const headers = { 'x-api-key': apiKey, 'x-forwarded-for': '203.0.113.9' }
      const { body } = await request(`${haproxy.gatewayUrl}/things-v1/things`, { headers, dispatcher })
      await body.dump()
      expect([...seenForwarded]).toEqual(['127.0.0.3'])
    })
  },
)
