/** An independent identity provider (`oidc-provider`) whose people sign in with the pages that it has for development. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { buttonOf, type createBrowser, type Page } from './browser.ts'

export const CLIENT = { clientId: 'tollgate', clientSecret: 'a secret that the provider has created' }

export interface PeopleProvider {
  readonly issuer: string
  /** The claims of each person, by subject. */
  readonly people: Map<string, Readonly<Record<string, unknown>>>
  /** Accepts the client with this redirect URI. */
  register(redirectUri: string): void
  /** Returns how the person of this subject signs in, from the sign-in page of the gateway until the page after the return. */
  logIn(subject: string): (browser: ReturnType<typeof createBrowser>, page: Page) => Promise<Page>
  close(): Promise<void>
}

const REDIRECTS_MAX = 10

export async function startPeopleProvider(): Promise<PeopleProvider> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  const key = { ...jwk, alg: 'RS256', use: 'sig', kid: await calculateJwkThumbprint(jwk) }
  const people: PeopleProvider['people'] = new Map()
  let handle: ReturnType<Provider['callback']> | null = null
  const server = createServer((incoming, response) => void handle?.(incoming, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  function register(redirectUri: string | null): void {
    const { clientId, clientSecret } = CLIENT
    const client = { client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri ?? ''] }
    handle = new Provider(issuer, {
      jwks: { keys: [key] },
      clients: redirectUri === null ? [] : [client],
      cookies: { keys: ['a key for the cookies of the provider'] },
      scopes: ['openid', 'profile', 'groups'],
      claims: { openid: ['sub'], profile: ['name', 'preferred_username'], groups: ['groups'] },
      findAccount: (_, subject) => {
        const claims = people.get(subject)
        return claims && { accountId: subject, claims: async () => ({ ...claims, sub: subject }) }
      },
    }).callback()
  }
  register(null)

  return {
    issuer,
    people,
    register,
    logIn: (subject) => async (browser, page) => {
      const button = buttonOf(page, `Continue with ${new URL(issuer).host}`)
      const login = await follow(browser, await browser.submit(page, {}, button))
      const consent = await follow(browser, await browser.submit(login, { login: subject, password: 'any' }))
      return follow(browser, await browser.submit(consent, {}))
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Follows redirects, except the one to the app. */
async function follow(browser: ReturnType<typeof createBrowser>, start: Page): Promise<Page> {
  let page = start
  for (let redirects = 0; redirects < REDIRECTS_MAX; redirects++) {
    const { location } = page.headers
    if (typeof location !== 'string') return page
    const next = new URL(location, page.url)
    if (!next.hostname.startsWith('127.')) return page
    page = await browser.open(next.href)
  }
  throw new Error(`too many redirects to ${page.url}`)
}
