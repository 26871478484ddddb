import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { backendCommands, type Deployed } from '../../../../../../src/interfaces/console/views/apis/backend-commands.ts'

const HOSTILE = `https://a.example/'"$(touch ran)\\(1)\`touch ran\``
const DEPLOYED: Deployed = {
  api: 'orders-v1',
  revision: 7,
  backend: {
    targets: [{ url: HOSTILE, weight: 3 }],
    timeoutMs: 2_000,
    tls: { certificate: 'OLD', ca: 'CA', hasKey: true },
    secretHeaders: [{ name: 'Authorization' }],
  },
  transform: null,
}

/** Runs the first part of a line, which makes the body. */
function bodyOf(line: string): unknown {
  const cwd = mkdtempSync(join(tmpdir(), 'commands-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  for (const [name, text] of [
    ['client.crt', 'NEW'],
    ['client.key', 'KEY'],
    ['value.txt', 'secret\n'],
  ] as const)
    writeFileSync(join(cwd, name), text)
  const [body = ''] = line.split(' |\n  curl ')
  return JSON.parse(execFileSync('sh', ['-c', body], { cwd, encoding: 'utf8' }))
}

describe('The lines that set what the console only shows', () => {
  const lines = backendCommands(DEPLOYED, 'https://platform.example')
  const { targets } = DEPLOYED.backend
  const backend = { targets, balance: 'roundRobin', timeoutMs: 2_000 }
  const stored = { secretHeaders: [{ name: 'Authorization' }] }

  it('send to the platform', () => {
    for (const line of Object.values(lines)) expect(line).toContain(`curl -sS 'https://platform.example/v1/proxies'`)
  })

  it('set a client certificate, and keep the rest', () => {
    expect(bodyOf(lines.tls)).toEqual({
      api: 'orders-v1',
      fromRevision: 7,
      backend: { ...backend, ...stored, tls: { certificate: 'NEW', key: 'KEY', ca: 'CA' } },
    })
  })

  it('add a secret header whose value no command line has', () => {
    expect(bodyOf(lines.secretHeaders)).toEqual({
      api: 'orders-v1',
      fromRevision: 7,
      backend: {
        ...backend,
        tls: { certificate: 'OLD', ca: 'CA' },
        secretHeaders: [...stored.secretHeaders, { name: 'X-Partner-Key', value: 'secret' }],
      },
    })
  })

  it('replace a secret header of the same name, and add one to a backend without any', () => {
    const withHeaders = (headers: object) =>
      backendCommands({ ...DEPLOYED, backend: { url: HOSTILE, timeoutMs: 1, ...headers } }, 'https://p.example')
    const added = { secretHeaders: [{ name: 'X-Partner-Key', value: 'secret' }] }
    for (const headers of [{ secretHeaders: [{ name: 'x-partner-key' }] }, {}])
      expect(bodyOf(withHeaders(headers).secretHeaders)).toHaveProperty('backend', {
        url: HOSTILE,
        timeoutMs: 1,
        ...added,
      })
  })

  it('set the transformations that are shown', () => {
    const transform = { response: { remove: ['Server'] } }
    const line = backendCommands({ ...DEPLOYED, transform }, 'https://platform.example').transform
    expect(bodyOf(line)).toEqual({ api: 'orders-v1', fromRevision: 7, transform })
    expect(bodyOf(lines.transform)).toHaveProperty('transform.request.set')
  })
})
