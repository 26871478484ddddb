/** A start with a port of 0 for each port, which the system chooses. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createPlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { createCertificateFolder } from '../fixtures/certificate-folder.ts'
import { MAIN } from '../fixtures/entry-points.ts'
import { createTestAuthority } from '../fixtures/test-certificates.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const NAMES = ['GATEWAY_PORT', 'PLATFORM_PORT', 'RISK_PORT', 'METRICS_PORT', 'HTTP_REDIRECT_PORT']
const ADMIN = { clientId: 'any-admin', clientSecret: 'any-admin-secret-0123456789' }

it.each(['1', '2'])(
  'a service with ports of 0 and GATEWAY_THREADS %s names the ports that it took, and answers there',
  async (threads) => {
    const certificates = createCertificateFolder()
    const authority = createTestAuthority()
    onTestFinished(() => authority.remove())
    certificates.put('gw', authority.sign('127.0.0.1'))
    const printed = await start({
      ...Object.fromEntries(NAMES.map((name) => [name, '0'])),
      GATEWAY_THREADS: threads,
      ADMIN_CLIENT_ID: ADMIN.clientId,
      ADMIN_CLIENT_SECRET: ADMIN.clientSecret,
      TLS_CERT_FILE: certificates.at('gw.crt'),
      TLS_KEY_FILE: certificates.at('gw.key'),
    })
    const [gatewayUrl, baseUrl, riskUrl] = ['gateway', 'platform', 'risk stream'].map((name) =>
      urlOf(name, printed),
    ) as [string, string, string]
    const named = await (await fetch(`${baseUrl}/.well-known/tollgate`)).json()
    expect(named).toMatchObject({ gatewayUrl, baseUrl, riskUrl })

    const platform = createPlatformClient({ gatewayUrl, baseUrl, ...ADMIN })
    const { items } = await platform.get<{ items: readonly { name: string; inForce: string | null }[] }>('/v1/settings')
    const ports = NAMES.map((name) => items.find((item) => item.name === name)?.inForce)
    expect(ports.slice(0, 3)).toEqual([gatewayUrl, baseUrl, riskUrl].map((url) => new URL(url).port))
    const answers = await Promise.all([
      fetch(`${gatewayUrl}/unknown-v1/things`),
      fetch(`${baseUrl}/readyz`),
      fetch(`${riskUrl}/v1/events/subscribe`),
      fetch(`http://127.0.0.1:${ports[3]}/metrics`),
      fetch(`http://127.0.0.1:${ports[4]}/things`, { redirect: 'manual' }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([404, 200, 401, 200, 308])
  },
)

/** Resolves with what the service has printed when it is up. It ends with the test. */
async function start(env: Readonly<Record<string, string>>): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-ports-'))
  const child = spawn(process.execPath, [MAIN, '--empty'], {
    env: { ...PLAIN_ENVIRONMENT, LOG_LEVEL: 'error', DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(dataDir, { recursive: true, force: true })
  })
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
      if (printed.includes('/v1/events/subscribe')) resolve()
    })
    child.once('close', (code) => reject(new Error(`the service ended with ${code}`)))
  })
  return printed
}

function urlOf(name: string, printed: string): string {
  return new RegExp(`^ +${name} +(https://127\\.0\\.0\\.1:\\d+)`, 'm').exec(printed)?.[1] ?? ''
}
