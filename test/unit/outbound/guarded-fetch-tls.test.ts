/** Outbound requests over TLS to real servers, with certificates of a test authority. */

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createGuardedFetch } from '../../../src/outbound/guarded-fetch.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

const folder = mkdtempSync(join(tmpdir(), 'tls-'))
const at = (name: string): string => join(folder, name)
const openssl = (...args: readonly string[]): Buffer => execFileSync('openssl', args, { stdio: 'pipe' })
const trusted = getCACertificates('default')

/** Creates a key and a certificate for a name, signed by the authority or self-signed. */
function certify(name: string, host: string, { signer = '', days = '30' } = {}) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at(`${name}.key`)]
  const signed = signer === '' ? [] : ['-CA', at(`${signer}.pem`), '-CAkey', at(`${signer}.key`)]
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  openssl('req', '-x509', ...key, ...signed, ...names, '-days', days, '-out', at(`${name}.pem`))
}

beforeAll(() => {
  certify('authority', 'Test Authority')
  certify('right', 'receiver.test', { signer: 'authority' })
  certify('other', 'elsewhere.test', { signer: 'authority' })
  certify('own', 'receiver.test')
  setDefaultCACertificates([...trusted, readFileSync(at('authority.pem'), 'utf8')])
})

afterAll(() => {
  setDefaultCACertificates(trusted)
  rmSync(folder, { recursive: true })
})

async function ask(certificate: string) {
  const names: (string | false | null)[] = []
  const server = createServer(
    { key: readFileSync(at(`${certificate}.key`)), cert: readFileSync(at(`${certificate}.pem`)) },
    (request, response) => {
      names.push((request.socket as TLSSocket).servername)
      response.end(`heard ${request.headers.host}`)
    },
  )
  server.on('tlsClientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const resolve = async () => [{ address: '127.0.0.1', family: 4 as const }]
  const guarded = createGuardedFetch({ clock: systemClock, allowPrivate: true, resolve })
  onTestFinished(guarded.close)
  const url = `https://receiver.test:${port}/hook`
  const result = await guarded.fetch({ url, method: 'POST', body: '{}', timeoutMs: 5_000, bytesMax: 1_000 })
  return { result, names, host: `receiver.test:${port}` }
}

it('an outbound request reaches a receiver whose certificate matches its name, and sends that name (SNI)', async () => {
  const { result, names, host } = await ask('right')
  expect(result).toMatchObject({ kind: 'answered', status: 200 })
  expect(result.kind === 'answered' && result.body.toString()).toBe(`heard ${host}`)
  expect(names).toEqual(['receiver.test'])
})

it.each([
  ['is for another name', 'other', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['is self-signed', 'own', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
])('an outbound request sends nothing to a receiver whose certificate %s', async (_, certificate, code) => {
  const { result, names } = await ask(certificate)
  expect(result).toEqual({ kind: 'failed', reason: 'unreachable', detail: `The host could not be reached (${code}).` })
  expect(names).toEqual([])
})
