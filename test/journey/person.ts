/** A person with a browser: sets a password by a one-time link, signs in, consents, and gets tokens. */

import { createHash, randomBytes } from 'node:crypto'
import { request } from 'undici'
import { buttonOf, createBrowser, type Page } from './browser.ts'
import type { Service } from './service.ts'

const REDIRECT = 'https://app.example/back'

/** Creates a public client of an API, with which people sign in. */
export async function createPublicClient(service: Service, api: string, scopes?: readonly string[]): Promise<string> {
  const { platform } = service
  const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name: 'App', kind: 'application' })
  const { id } = await platform.post<{ id: string }>('/v1/subscriptions', {
    consumer,
    api,
    securityTypes: ['PKCE'],
    redirectUris: [REDIRECT],
    ...(scopes && { scopes }),
  })
  const path = `/v1/subscriptions/${id}/credentials`
  const { items } = await platform.get<{ items: readonly { clientId: string }[] }>(path)
  return items[0]?.clientId ?? ''
}

export interface LoginOptions {
  readonly api: string
  readonly clientId: string
  readonly username: string
  readonly password: string
  readonly redirectUri?: string
  /** Signs in on the sign-in page; default: with user name and password. */
  readonly first?: (browser: ReturnType<typeof createBrowser>, page: Page) => Promise<Page>
  /** For a client that belongs to no organisation. */
  readonly organisation?: string
  /** Answers the page that follows the password, if there is one before the consent. */
  readonly second?: (browser: ReturnType<typeof createBrowser>, page: Page) => Promise<Page>
}

export interface PersonToken {
  readonly status: number
  readonly token: string
  readonly scope: string
  /** `''` if the client gets no refresh token. */
  readonly refresh: string
}

export async function setPassword(url: string, password: string): Promise<number> {
  const browser = createBrowser()
  const page = await browser.open(url)
  if (page.status !== 200) return page.status
  return (await browser.submit(page, { password })).status
}

/** Signs in and consents. Returns the code, with the verifier that redeems it; the status of the refused step otherwise. */
export async function getCode(
  service: Service,
  options: LoginOptions,
): Promise<{ readonly status: number; readonly code: string; readonly verifier: string }> {
  const { api, clientId, username, password, organisation = '', redirectUri = REDIRECT } = options
  const { first, second = async (_, page) => page } = options
  const verifier = randomBytes(32).toString('base64url')
  const url = new URL(`${service.gatewayUrl}/oauth2/v2/authorize`)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    resource: `${service.gatewayUrl}/${api}`,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  const browser = createBrowser()
  const login = await browser.open(url.href)
  const page = await (first?.(browser, login) ?? browser.submit(login, { organisation, username, password }))
  const consent = page.status === 200 ? await second(browser, page) : page
  if (consent.status !== 200) return { status: consent.status, code: '', verifier }
  const back = await browser.submit(consent, {}, buttonOf(consent, 'Allow'))
  const code = new URL(String(back.headers['location'])).searchParams.get('code') ?? ''
  return { status: back.status, code, verifier }
}

export async function redeem(
  service: Service,
  { api, clientId }: Pick<LoginOptions, 'api' | 'clientId'>,
  { code, verifier }: { readonly code: string; readonly verifier: string },
): Promise<PersonToken> {
  return askToken(service, api, {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: verifier,
  })
}

export async function refresh(
  service: Service,
  { api, clientId }: Pick<LoginOptions, 'api' | 'clientId'>,
  token: string,
): Promise<PersonToken> {
  return askToken(service, api, { grant_type: 'refresh_token', client_id: clientId, refresh_token: token })
}

async function askToken(service: Service, api: string, form: Readonly<Record<string, string>>): Promise<PersonToken> {
  const { statusCode, body } = await request(`${service.gatewayUrl}/${api}/oauth2/v2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  })
  const answer = (await body.json()) as { access_token?: string; scope?: string; refresh_token?: string }
  const { access_token: token = '', scope = '', refresh_token: refreshToken = '' } = answer
  return { status: statusCode, token, scope, refresh: refreshToken }
}

export async function logIn(service: Service, options: LoginOptions): Promise<PersonToken> {
  const login = await getCode(service, options)
  if (login.status === 303) return redeem(service, options, login)
  return { status: login.status, token: '', scope: '', refresh: '' }
}
