/**
 * A sign-in in the browser: authorization code with PKCE (S256), and a loopback redirect on a free port (RFC 8252, 7.3).
 *
 * The listener accepts one answer, with the state and the issuer of this sign-in (RFC 9207), and nothing after five minutes.
 */

import { spawn } from 'node:child_process'
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandFailed, EXIT_NEGATIVE } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { toPlain } from '../output/plain-text.ts'
import { issuerOf, requestTokens, type Tokens } from './tokens.ts'

export interface BrowserLoginOptions {
  readonly gatewayUrl: string
  readonly clientId: string
  readonly io: Io
  /** False: only prints the address. */
  readonly opensBrowser: boolean
}

const HOST = '127.0.0.1'
const PATH = '/callback'
const WAIT_MS = 300_000

export async function loginInBrowser({ gatewayUrl, clientId, io, opensBrowser }: BrowserLoginOptions): Promise<Tokens> {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(24).toString('base64url')
  const server = createServer()
  try {
    const redirectUri = await listen(server)
    const url = new URL(`${gatewayUrl}/oauth2/v2/authorize`)
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      resource: issuerOf(gatewayUrl),
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state,
    }).toString()
    const answered = waitForAnswer(server, { state, issuer: issuerOf(gatewayUrl) }, io.interruptible())
    io.err.write(`Sign in with your browser:\n\n  ${url.href}\n\n`)
    if (opensBrowser) openBrowser(url.href, io)
    const code = await answered
    return await requestTokens(gatewayUrl, {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, HOST, () => resolve(`http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`))
  })
}

interface Expected {
  readonly state: string
  readonly issuer: string
}

function waitForAnswer(server: Server, expected: Expected, interrupted: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => reject(new CommandFailed('No sign-in within five minutes.')), WAIT_MS)
  const onAbort = (): void => reject(new CommandFailed('The sign-in was interrupted.'))
  interrupted.addEventListener('abort', onAbort, { once: true })
  server.on('request', ({ url = '', method }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://loopback')
    if (method !== 'GET' || pathname !== PATH) return answer(response, 404, 'Not found.')
    if (!isSame(searchParams.get('state') ?? '', expected.state)) {
      return answer(response, 400, 'This is not the sign-in that the command waits for.')
    }
    const read = readAnswer(searchParams, expected.issuer)
    answer(response, read.code === null ? 400 : 200, read.page)
    if (read.code === null) reject(new CommandFailed(read.reason, EXIT_NEGATIVE))
    else resolve(read.code)
  })
  return promise.finally(() => {
    clearTimeout(timer)
    interrupted.removeEventListener('abort', onAbort)
  })
}

type Answer =
  | { readonly code: string; readonly page: string }
  | { readonly code: null; readonly page: string; readonly reason: string }

function readAnswer(search: URLSearchParams, issuer: string): Answer {
  const page = 'The sign-in failed. Return to the terminal.'
  if (search.get('iss') !== issuer) return { code: null, page, reason: 'The answer came from another issuer.' }
  const code = search.get('code')
  if (code !== null && code !== '') return { code, page: 'You are signed in. You can close this page.' }
  const reason = search.get('error_description') ?? search.get('error') ?? 'no code in the answer'
  return { code: null, page, reason: `The sign-in was refused: ${toPlain(reason).slice(0, 300)}` }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
    'Referrer-Policy': 'no-referrer',
    Connection: 'close',
  })
  const style = 'font: 1.1rem system-ui; margin: 20vh auto; text-align: center'
  response.end(`<!doctype html><html lang="en"><title>tollgate</title><body style="${style}">${text}</body></html>`)
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

/**
 * A failure is no error: the address is printed.
 *
 * Other users of the machine can read the address in the list of processes: the verifier, without which a code is of no use, never
 * leaves this process.
 */
function openBrowser(url: string, { env }: Io): void {
  const [command, ...args] = browserCommand(process.platform, env)
  if (command === undefined) return
  const withoutSecrets = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TOLLGATE_')))
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true, env: withoutSecrets })
  child.on('error', () => {})
  child.unref()
}

export function browserCommand(
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  if (env['BROWSER']) return [env['BROWSER']]
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : []
}
