/**
 * The scenarios of the conformance suite that each revision of the protocol requires of a server, against a backend with the
 * operations that they call. `mcp-expected-failures.yaml` lists those that a gateway cannot pass, with the reasons.
 */

import { execFile } from 'node:child_process'
import { request as send } from 'node:http'
import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'

const COMMAND = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')
const EXPECTED_FAILURES = join(import.meta.dirname, 'mcp-expected-failures.yaml')
/** The smallest image of its format: one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const RESPONSES: Readonly<Record<string, readonly [status: number, type: string, body: Buffer]>> = {
  test_simple_text: [200, 'text/plain', Buffer.from('This is a simple text response for testing.')],
  test_image_content: [200, 'image/png', Buffer.from(PNG, 'base64')],
  test_audio_content: [200, 'audio/wav', Buffer.from('RIFF')],
  test_embedded_resource: [200, 'application/pdf', Buffer.from('%PDF-1.7')],
  test_error_handling: [500, 'text/plain', Buffer.from('This tool intentionally returns an error for testing')],
}

async function openReference(): Promise<string> {
  const origin = await openBackend((incoming, response) => {
    const [status, type, body] = RESPONSES[(incoming.url ?? '').slice(1)] ?? [404, 'text/plain', Buffer.from('none')]
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  const paths = Object.entries(RESPONSES).map(([operationId, [, type]]) => {
    const operation = { operationId, responses: { 200: { description: 'ok', content: { [type]: {} } } } }
    return [`/${operationId}`, { get: { ...operation, summary: `Reference ${operationId}` } }] as const
  })
  const root = { 'x-tollgate-mcp': { mode: 'tools' } }
  const gateway = await openTestGateway({ backend: { origin }, paths: Object.fromEntries(paths), root })
  return openKeyed(`http://127.0.0.1:${gateway.port}`)
}

/** Adds a key to each request, because the suite has no credential, and more messages than one credential may send. */
async function openKeyed(target: string): Promise<string> {
  let requests = 0
  return openBackend((incoming, response) => {
    const { url = '', method, headers } = incoming
    const keyed = { ...headers, 'x-api-key': `key-${requests++}` }
    const onward = send(`${target}${url}`, { method: method ?? 'GET', headers: keyed }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    incoming.pipe(onward)
  })
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
  'the endpoint passes the scenarios of revision %s, but for the expected failures',
  async (revision) => {
    const { code, output } = await run(`${await openReference()}/things-v1/mcp`, revision)
    if (code !== 0) console.error(output)
    expect(code).toBe(0)
  },
  300_000,
)
