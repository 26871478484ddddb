/**
 * Two independent MCP clients that authorise with a person: the official SDK and that of `ai`.
 *
 * Each is configured only with the address of an endpoint and its own identity. It finds the authorization server from the 401,
 * sends the person to the authorization address, redeems the code with PKCE, and connects again.
 */

import { auth, createMCPClient, UnauthorizedError as SecondUnauthorized } from '@ai-sdk/mcp'
import type { OAuthClientProvider as SecondProvider } from '@ai-sdk/mcp'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
} from '@modelcontextprotocol/client'
import { randomBytes } from 'node:crypto'

export interface AgentOptions {
  /** Address of the endpoint. */
  readonly url: string
  readonly client: AgentIdentity
  readonly redirectUri: string
  /** Sends this as `resource` instead of the one that the metadata names. */
  readonly resource?: string
  /** Signs in and consents. Returns the address that the browser is redirected to. */
  readonly authorise: (authorizationUrl: URL) => Promise<URL>
}

/**
 * A client with an id, or one that decides by the metadata of the authorization server to use its metadata document or to register
 * itself.
 */
export type AgentIdentity =
  | { readonly clientId: string }
  | { readonly metadataUrl: string }
  | { readonly registers: true }

export interface Agent {
  /** The access token that the client has got. */
  readonly token: string
  /** Lists the names of the tools, by page. */
  pages(): Promise<readonly (readonly string[])[]>
  call(name: string, args?: Record<string, unknown>): Promise<{ readonly isError: boolean; readonly text: string }>
  close(): Promise<void>
}

export type OpenAgent = (options: AgentOptions) => Promise<Agent>

const NAME = 'Journey agent'

export async function openOfficialAgent(options: AgentOptions): Promise<Agent> {
  const { url, client: identity, redirectUri, resource, authorise } = options
  const saved = createStorage()
  let information: StoredOAuthClientInformation | undefined =
    'clientId' in identity ? toInformation(identity) : undefined
  let discovery: OAuthDiscoveryState | undefined
  const provider: OAuthClientProvider = {
    ...saved.provider,
    redirectUrl: redirectUri,
    clientMetadata: { client_name: NAME, redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    ...('metadataUrl' in identity && { clientMetadataUrl: identity.metadataUrl }),
    clientInformation: () => information,
    saveClientInformation: (value) => void (information = value),
    discoveryState: () => discovery,
    saveDiscoveryState: (value) => void (discovery = value),
    ...(resource !== undefined && { validateResourceURL: async () => new URL(resource) }),
  }
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider })
  const first = transport()
  await refused(() => newClient().connect(first), UnauthorizedError)
  await first.finishAuth((await authorise(saved.authorizationUrl())).searchParams)
  const client = newClient()
  await client.connect(transport())
  return {
    token: saved.token(),
    // `listTools` without a cursor joins the pages.
    pages: () =>
      readPages((cursor) => client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } })),
    call: async (name, args = {}) => toOutcome(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  }
}

/** This client has no support for metadata documents of its own, but may use the address of one as its id. */
export async function openSecondAgent(options: AgentOptions): Promise<Agent> {
  const { url, client: identity, redirectUri, resource, authorise } = options
  const saved = createStorage()
  let information = 'registers' in identity ? undefined : toInformation(identity)
  const provider: SecondProvider = {
    ...saved.provider,
    redirectUrl: redirectUri,
    clientMetadata: { client_name: NAME, redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    clientInformation: () => information,
    saveClientInformation: (value) => void (information = value),
    storedState: saved.state,
    ...(resource !== undefined && { validateResourceURL: async () => new URL(resource) }),
  }
  const transport = { type: 'http', url, authProvider: provider } as const
  await refused(() => createMCPClient({ transport }), SecondUnauthorized)
  const parameters = (await authorise(saved.authorizationUrl())).searchParams
  await auth(provider, {
    serverUrl: url,
    authorizationCode: parameters.get('code') ?? '',
    callbackState: parameters.get('state') ?? '',
    callbackIssuer: parameters.get('iss') ?? '',
  })
  const client = await createMCPClient({ transport })
  return {
    token: saved.token(),
    pages: () => readPages((cursor) => client.listTools(cursor === undefined ? {} : { params: { cursor } })),
    call: async (name, args = {}) => toOutcome(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  }
}

function newClient(): Client {
  return new Client({ name: NAME, version: '1.0.0' })
}

function toInformation(identity: Exclude<AgentIdentity, { readonly registers: true }>): { client_id: string } {
  return { client_id: 'clientId' in identity ? identity.clientId : identity.metadataUrl }
}

/** Keeps what a client stores during an authorization. */
function createStorage() {
  const state = randomBytes(16).toString('hex')
  let tokens: { access_token: string; token_type: string } | undefined
  let verifier = ''
  let authorizationUrl: URL | undefined
  return {
    state: () => state,
    token: () => tokens?.access_token ?? '',
    authorizationUrl(): URL {
      if (authorizationUrl === undefined) throw new Error('the client has not asked for an authorization')
      return authorizationUrl
    },
    provider: {
      state: () => state,
      tokens: () => tokens,
      saveTokens: (value: { access_token: string; token_type: string }) => void (tokens = value),
      codeVerifier: () => verifier,
      saveCodeVerifier: (value: string) => void (verifier = value),
      redirectToAuthorization: (url: URL) => void (authorizationUrl = url),
    },
  }
}

async function refused(connect: () => Promise<unknown>, as: new () => Error): Promise<void> {
  const cause: unknown = await connect().then(
    () => null,
    (each: unknown) => each,
  )
  if (!(cause instanceof as)) throw new Error('the client was not asked to authorise', { cause })
}

interface Page {
  readonly tools: readonly { readonly name: string }[]
  readonly nextCursor?: string | undefined
}

async function readPages(read: (cursor: string | undefined) => Promise<Page>): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = []
  for (let cursor: string | undefined; ;) {
    const page = await read(cursor)
    pages.push(page.tools.map(({ name }) => name))
    if (page.nextCursor === undefined) return pages
    cursor = page.nextCursor
  }
}

function toOutcome(result: object): { readonly isError: boolean; readonly text: string } {
  const { isError = false, content } = result as { isError?: boolean; content?: unknown }
  return { isError, text: JSON.stringify(content) }
}
