/** The official MCP client of a person: authorises with PKCE, from the 401 of the endpoint to a sign-in and consent in a browser. */

import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { buttonOf, createBrowser } from './browser.ts'

export interface McpLogin {
  /** The address of the MCP endpoint. */
  readonly url: string
  readonly clientId: string
  readonly redirectUri: string
  readonly username: string
  readonly password: string
  readonly revision: '2025-11-25' | '2026-07-28'
}

export interface LoggedIn {
  readonly client: Client
  /** The address that the client opened in the browser. */
  readonly authorizeUrl: URL
  /** The address that the browser was sent back to. */
  readonly callback: URL
  readonly token: string
}

/** Resolves when the client is connected with a token of the person. */
export async function connectAsPerson(login: McpLogin): Promise<LoggedIn> {
  const { url, revision } = login
  const memory = createMemory(login)
  const first = new StreamableHTTPClientTransport(new URL(url), { authProvider: memory.provider })
  const refused = await openClient(revision)
    .connect(first)
    .then(
      () => null,
      (cause: unknown) => cause,
    )
  if (!(refused instanceof UnauthorizedError))
    throw new Error('the endpoint did not ask for a login', { cause: refused })
  const authorizeUrl = memory.authorizeUrl()
  const callback = await consent(authorizeUrl, login)
  await first.finishAuth(callback.searchParams)
  const client = openClient(revision)
  onTestFinished(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: memory.provider }))
  return { client, authorizeUrl, callback, token: memory.token() }
}

function openClient(revision: McpLogin['revision']): Client {
  const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const)
  return new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
}

async function consent(authorizeUrl: URL, { username, password }: McpLogin): Promise<URL> {
  const browser = createBrowser()
  const page = await browser.submit(await browser.open(authorizeUrl.href), { username, password })
  if (page.status !== 200) throw new Error(`the login ended with ${page.status}`)
  const back = await browser.submit(page, {}, buttonOf(page, 'Allow'))
  return new URL(String(back.headers['location']))
}

interface Memory {
  readonly provider: OAuthClientProvider
  authorizeUrl(): URL
  token(): string
}

/** What a client keeps between the steps of the authorization. */
function createMemory({ clientId, redirectUri }: McpLogin): Memory {
  let tokens: StoredOAuthTokens | undefined
  let verifier = ''
  let opened: URL | undefined
  let discovered: OAuthDiscoveryState | undefined
  return {
    provider: {
      redirectUrl: redirectUri,
      clientMetadata: { client_name: 'Test', redirect_uris: [redirectUri] },
      clientInformation: () => ({ client_id: clientId }),
      tokens: () => tokens,
      saveTokens: (saved) => void (tokens = saved),
      redirectToAuthorization: (url) => void (opened = url),
      saveCodeVerifier: (saved) => void (verifier = saved),
      codeVerifier: () => verifier,
      saveDiscoveryState: (found) => void (discovered = found),
      discoveryState: () => discovered,
    },
    authorizeUrl() {
      if (opened === undefined) throw new Error('the client opened no browser')
      return opened
    },
    token: () => tokens?.access_token ?? '',
  }
}
