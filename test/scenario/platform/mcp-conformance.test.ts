/**
 * The scenarios of the conformance suite that each revision of the protocol requires of a server, against the endpoint of the
 * platform. `mcp-expected-failures.yaml` lists those that it cannot pass, with the reasons.
 */

import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openTestPlatform } from '../../fixtures/test-platform.ts'

const COMMAND = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')
const EXPECTED_FAILURES = join(import.meta.dirname, 'mcp-expected-failures.yaml')

/** Adds a token to each request, because the suite has no credential, and more messages than one credential may send. */
async function openPlatform(): Promise<string> {
  const platform = await openTestPlatform()
  const target = await platform.server.app.listen({ port: 0, host: '127.0.0.1' })
  let requests = 0
  const proxy = createServer((incoming, response) => {
    const { url = '', method = 'GET', headers } = incoming
    const token = platform.token(`acme-${requests++}`)
    const onward = send(`${target}${url}`, { method, headers: { ...headers, authorization: `Bearer ${token}` } })
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    incoming.pipe(onward)
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  proxy.listen(0, '127.0.0.1', resolve)
  await promise
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
}

function run(url: string, revision: string): Promise<{ readonly code: number; readonly output: string }> {
  const results = mkdtempSync(join(tmpdir(), 'conformance-'))
  const options = ['--requirements', revision, '--expected-failures', EXPECTED_FAILURES, '--output-dir', results]
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, 'server', '--url', url, ...options], { timeout: 240_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: out + err }),
    )
  })
}

it.each(['2025-11-25', '2026-07-28'])(
  'the endpoint of the platform passes the scenarios of revision %s, but for the expected failures',
  async (revision) => {
    const { code, output } = await run(await openPlatform(), revision)
    if (code !== 0) console.error(output)
    expect(code).toBe(0)
  },
  300_000,
)
