/** A service over TLS: certificates that change under load, hosts, the redirect, and a certificate that expires. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createCertificateFolder, type CertificateFolder } from '../fixtures/certificate-folder.ts'
import { OWN_ADDRESS, ownPort, ownUrl } from '../fixtures/own-address.ts'
import { createTestAuthority } from '../fixtures/test-certificates.ts'
import { openTlsSocket } from '../fixtures/tls-socket.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS, usedTypes } from './service.ts'
import { readRisks } from './risk-streams.ts'
import { more, startTraffic, WITHIN } from './steady-clients.ts'
import { document, listen } from './things-api.ts'

const HOSTS = `gw.example.test,${OWN_ADDRESS}`
const authority = createTestAuthority()
const backend = createServer((incoming, response) => incoming.resume().on('end', () => response.end('{}')))
let folder: CertificateFolder
let service: Service
let caller: Enrolled
let redirectPort = 0

beforeAll(async () => {
  folder = createCertificateFolder(() => {})
  folder.put('main/gw', authority.sign(HOSTS))
  folder.put('more/api', authority.sign('api.example.test'))
  redirectPort = await ownPort()
  service = await createService({
    env: {
      ...TWO_THREADS,
      TLS_CERT_FILE: folder.at('main/gw.crt'),
      TLS_KEY_FILE: folder.at('main/gw.key'),
      TLS_CERT_DIR: folder.at('more'),
      HTTP_REDIRECT_PORT: String(redirectPort),
    },
  })
  await service.start()
  await publish(service, 'things-v1', document('Things'), await listen(backend))
  caller = await enrol(service, 'things-v1')
}, 120_000)

afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
  folder.remove()
  authority.remove()
})

const open = (url: string, servername = 'gw.example.test'): Promise<TLSSocket> =>
  openTlsSocket(Number(new URL(url).port), { servername, host: OWN_ADDRESS })

/** The serial number of the certificate that new connections get. */
async function presented(url: string, servername?: string): Promise<string> {
  const socket = await open(url, servername)
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

async function call(socket: TLSSocket): Promise<string> {
  socket.write(`GET /things-v1/things HTTP/1.1\r\nHost: gw.example.test\r\nX-Api-Key: ${caller.apiKey}\r\n\r\n`)
  const [head] = (await once(socket, 'data')) as [Buffer]
  return head.toString().split('\r\n')[0]!
}

it('presents changed certificates to new connections while the others go on', async () => {
  const { gatewayUrl, baseUrl } = service
  const kept = await open(gatewayUrl)
  expect(await call(kept)).toBe('HTTP/1.1 200 OK')
  const traffic = startTraffic({ gatewayUrl, apiKey: caller.apiKey, methods: ['GET', 'POST'] })
  const known = new Set<string>()
  for (let round = 0; round < 5; round++) {
    await more(traffic, 100)
    const before = await presented(gatewayUrl)
    known.add(before)
    folder.put('main/gw', authority.sign(HOSTS))
    await expect.poll(() => presented(gatewayUrl), WITHIN).not.toBe(before)
    await expect.poll(() => presented(baseUrl), WITHIN).toBe(await presented(gatewayUrl))
  }
  await more(traffic, 100)
  await traffic.stop()
  expect(traffic.failures).toEqual([])
  expect(known.size).toBe(5)
  expect(await call(kept)).toBe('HTTP/1.1 200 OK')
})

it('serves and bills calls over HTTP/2, which use their credential', async () => {
  const { gatewayUrl, platform } = service
  const { apiKey, consumer, subscription } = await enrol(service, 'things-v1', { name: 'Grace' })
  const billed = async (): Promise<number> => {
    const { items } = await platform.get<{ items: readonly { calls: number }[] }>(`/v1/summaries?customer=${consumer}`)
    return items.reduce((sum, { calls }) => sum + calls, 0)
  }
  const session = connectHttp2(gatewayUrl)
  onTestFinished(() => session.destroy())
  const answers = Array.from({ length: 50 }, async () => {
    const stream = session.request({ ':path': '/things-v1/things', 'x-api-key': apiKey })
    const [head] = (await once(stream, 'response')) as [Record<string, number>]
    await stream.toArray()
    return head[':status']
  })
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]))
  await expect.poll(billed, WITHIN).toBe(50)
  await expect.poll(() => usedTypes(service, subscription), WITHIN).toEqual(['ApiKey'])
})

it('presents certificates by the host, also those that are added', async () => {
  const { gatewayUrl, baseUrl } = service
  for (const url of [gatewayUrl, baseUrl]) {
    const socket = await open(url, 'api.example.test')
    expect(socket.getPeerCertificate().subject.CN).toBe('api.example.test')
  }
  folder.put('more/late', authority.sign('late.example.test'))
  const nameOf = async (): Promise<unknown> => {
    const options = { host: OWN_ADDRESS, servername: 'late.example.test', rejectUnauthorized: false }
    const socket = await openTlsSocket(Number(new URL(gatewayUrl).port), options)
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return CN
  }
  await expect.poll(nameOf, WITHIN).toBe('late.example.test')
})

it('goes on with its certificate while another one cannot be read', async () => {
  const { gatewayUrl } = service
  const before = await presented(gatewayUrl)
  folder.write('main/gw.crt', 'nothing')
  await expect.poll(service.errors, WITHIN).toContain('contains no certificate in PEM')
  expect(await presented(gatewayUrl)).toBe(before)
  folder.put('main/gw', authority.sign(HOSTS))
  await expect.poll(() => presented(gatewayUrl), WITHIN).not.toBe(before)
})

it('redirects HTTP to HTTPS', async () => {
  const answer = await request(`${ownUrl(redirectPort)}/things-v1/things?a=b`)
  await answer.body.dump()
  expect([answer.statusCode, answer.headers.location]).toEqual([308, `${service.gatewayUrl}/things-v1/things?a=b`])
})

it('raises a risk before a certificate expires, and shows the days that are left', async () => {
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
  expect(Number(/^tollgate_tls_certificate_days_left (.+)$/m.exec(metrics)?.[1])).toBeCloseTo(30, 0)
  folder.put('more/short', authority.sign('short.example.test', 3))
  await service.stop()
  await service.start()
  const reader = await readRisks(service, 'evt_00000000000000000000000000')
  onTestFinished(() => reader.close())
  const found = (): unknown => reader.risks.find(({ type }) => type === 'CertificateExpiring')
  await expect.poll(found, WITHIN).toMatchObject({ severity: 'Warning', phase: 'opened' })
})

it('refuses to start with a certificate that it cannot read', async () => {
  const refused = await createService({
    env: { TLS_CERT_FILE: folder.at('main/gw.crt'), TLS_KEY_FILE: folder.at('more/api.key') },
  })
  onTestFinished(() => refused.remove())
  await expect(refused.start()).rejects.toThrow(/ended with 2\n.*belongs to another certificate/)
})
