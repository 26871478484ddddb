/** `tollgate validate` as a build runs it. */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { CLI } from '../fixtures/entry-points.ts'
import { createService, publish, type Service } from './service.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const SAMPLE = join(import.meta.dirname, '../../src/app/sample/payments.openapi.yaml')

let service: Service
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-'))
  service = await createService({ args: ['--empty'] })
  await service.start()
})
afterAll(async () => {
  await service.remove()
  rmSync(folder, { recursive: true, force: true })
})

function gate(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const env = {
    ...PLAIN_ENVIRONMENT,
    GATEWAY_URL: service.gatewayUrl,
    BASE_URL: service.baseUrl,
    CLIENT_ID: 'journey-admin',
    CLIENT_SECRET: 'journey-admin-secret-0123456789',
  }
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, 'validate', ...args], { env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err })
    })
  })
}

it('validate passes a good document, and fails one below the minimum score, one with a breaking change, an invalid one, and one whose previous version cannot be read', async () => {
  const good = await gate([SAMPLE])
  expect([good.code, good.err]).toEqual([0, ''])
  expect(good.out).toMatch(/█+░* \d+\.\d of 100, clean; asked for 80: good/)
  expect((await gate([SAMPLE, '--min-score', '100'])).code).toBe(1)

  const empty = join(folder, 'empty.yaml')
  writeFileSync(
    empty,
    'openapi: 3.1.0\ninfo: { title: Payments, version: 1.0.0 }\npaths: { /x: { get: { responses: { "200": { description: ok } } } } }\n',
  )
  const broken = await gate([empty, '--previous', SAMPLE, '--min-score', '0'])
  expect(broken.code).toBe(1)
  expect(broken.out).toContain('The operation was removed.')
  const html = join(folder, 'page.html')
  writeFileSync(html, '<!doctype html>')
  expect(await gate([html])).toMatchObject({ code: 1, err: '' })
  const unread = await gate([SAMPLE, '--previous', html])
  expect(unread).toMatchObject({ code: 2, out: '' })
  expect(unread.err).toMatch(/^tollgate: \S+page\.html: The previous document cannot be read, [^\n]+\n$/)
})

it('validate prints the reason if the service cannot be reached', async () => {
  expect(await gate([join(folder, 'none.yaml')])).toMatchObject({ code: 2, out: '' })
  expect(await gate([])).toMatchObject({ code: 2, out: '' })
  const { code, err } = await gate([SAMPLE, '--base-url', 'http://127.0.0.1:1'])
  expect([code, err]).toEqual([2, expect.stringContaining('ECONNREFUSED')])
})

it('every activation is scored, and a low score is a risk of the provider', async () => {
  const responses = { 200: { description: 'ok' } }
  const operation = (id: string) => ({ operationId: id, security: [], responses })
  await publish(
    service,
    'low-v1',
    {
      openapi: '3.1.0',
      info: { title: 'Low', version: '1.0.0' },
      servers: [{ url: 'http://plain.example' }],
      paths: {
        '/Get_Things': { post: operation('a'), put: operation('b'), delete: operation('c') },
        '/b-c/': { post: operation('d') },
      },
    },
    'http://127.0.0.1:9',
  )
  await vi.waitFor(
    async () => {
      const { complianceScore } = await service.platform.get<{ complianceScore: number | null }>('/v1/apis/low-v1')
      expect(complianceScore).toBeLessThan(90)
      const { items } = await service.platform.get<{ items: readonly object[] }>(
        '/v1/risks?type=ComplianceScoreLow&api=low-v1',
      )
      expect(items).toMatchObject([{ category: 'Compliance', attributedTo: { kind: 'provider' } }])
    },
    { timeout: 20_000, interval: 50 },
  )
})
