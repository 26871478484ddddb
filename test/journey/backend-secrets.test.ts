/**
 * A backend that requires a certificate and a password of the gateway, in the whole service: it is called before and after a restart,
 * and no file, log line or answer has one of the secrets.
 */

import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestAuthority } from '../fixtures/test-certificates.ts'
import { createService, enrol, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import { document } from './things-api.ts'

const API = 'things-v1'
const MARKER = 'marker-of-the-secret-0123456789'
const authority = createTestAuthority()
const ca = authority.cert.toString()
const own = authority.signFor('clientAuth', 'gateway')
const renewed = authority.signFor('clientAuth', 'renewed')
const received: { url: string; password: string | undefined; stage: string | undefined; name: string }[] = []
const texts: string[] = []

const backend = createServer(
  { ...authority.sign('127.0.0.1'), ca: authority.cert, requestCert: true },
  (incoming, response) => {
    const { 'x-password': password, 'x-stage': stage } = incoming.headers as Record<string, string | undefined>
    const { subject } = (incoming.socket as TLSSocket).getPeerCertificate()
    received.push({ url: incoming.url ?? '', password, stage, name: String(subject?.CN) })
    if (incoming.url === '/internal/limited') incoming.socket.destroy()
    else response.writeHead(200, { server: 'secret-server' }).end('{}')
  },
)
let service: Service
let caller: Enrolled
let url: string

beforeAll(async () => {
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  url = `https://127.0.0.1:${(backend.address() as AddressInfo).port}`
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, LOG_LEVEL: 'debug', REQUEST_LOG: 'all' } })
  await service.start()
}, 120_000)

afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
  authority.remove()
})

async function deploy(more: object): Promise<void> {
  const staged = await service.platform.post<{ id: string }>('/v1/proxies', { api: API, ...more })
  texts.push(JSON.stringify(staged))
  texts.push(JSON.stringify(await service.platform.post(`/v1/proxies/${staged.id}/activate`)))
}

async function call(path = '/things'): Promise<{ status: number; server: unknown }> {
  const headers = { 'x-api-key': caller.apiKey, 'x-password': 'forged' }
  const { statusCode, headers: answered, body } = await request(`${service.gatewayUrl}/${API}${path}`, { headers })
  texts.push(await body.text(), JSON.stringify(answered))
  return { status: statusCode, server: answered['server'] }
}

function filesUnder(folder: string): string[] {
  const entries = globSync('**', { cwd: folder, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

it('calls the backend with its certificate, its password and its paths', async () => {
  const tls = { certificate: own.cert.toString(), key: own.key.toString(), ca }
  await deploy({
    specification: Buffer.from(JSON.stringify(document('Things'))).toString('base64'),
    backend: { url, tls, secretHeaders: [{ name: 'X-Password', value: MARKER }] },
    transform: {
      request: { set: [{ name: 'X-Stage', value: 'live' }] },
      response: { remove: ['Server'] },
      basePath: { from: '/', to: '/internal' },
    },
  })
  caller = await enrol(service, API)
  // More than one connection, so that every thread is called.
  for (let round = 0; round < 8; round++) expect(await call()).toEqual({ status: 200, server: undefined })
  expect(new Set(received.map((each) => JSON.stringify(each)))).toEqual(
    new Set([JSON.stringify({ url: '/internal/things', password: MARKER, stage: 'live', name: 'gateway' })]),
  )
  expect(await call('/limited')).toMatchObject({ status: 502 })
})

it('goes on after a restart, and with a renewed certificate that keeps the password', async () => {
  texts.push(service.output(), service.errors())
  expect(await service.stop()).toBe(0)
  await service.start()
  received.length = 0
  expect(await call()).toMatchObject({ status: 200 })
  const tls = { certificate: renewed.cert.toString(), key: renewed.key.toString(), ca }
  await deploy({ fromRevision: 1, backend: { url, tls, secretHeaders: [{ name: 'X-Password' }] } })
  expect(await call()).toMatchObject({ status: 200 })
  expect(received).toMatchObject([
    { name: 'gateway', password: MARKER },
    { name: 'renewed', password: MARKER },
  ])
})

it('has the secrets in no answer, log line or file', async () => {
  for (const path of ['/v1/proxies', '/v1/audit?limit=500', '/v1/apis', '/v1/requests?limit=100'])
    texts.push(JSON.stringify(await service.platform.get(path)))
  texts.push(service.output(), service.errors())
  expect(await service.stop()).toBe(0)
  texts.push(service.output(), service.errors())
  const secrets = [MARKER, ...[own, renewed].map(({ key }) => key.toString().split('\n')[1]!)]
  for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret)
  const files = filesUnder(service.dataDir)
  expect(files.length).toBeGreaterThan(3)
  const having = files.filter((file) => {
    const bytes = readFileSync(file)
    return secrets.some(
      (secret) => bytes.includes(secret) || bytes.includes(Buffer.from(secret).toString('base64').slice(0, -4)),
    )
  })
  expect(having).toEqual([])
})
