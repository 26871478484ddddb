/** The authorize endpoint as a browser meets it: cookies kept, forms sent as the page has them. */

import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { Grant } from '../../../src/plan/grant.ts'
import type { ApiScopes } from '../../../src/identity/access-token.ts'
import type { Consent } from '../../../src/identity/authorization-codes.ts'
import { createAuthorizeFlow } from '../../../src/identity/authorize-flow.ts'
import type { OauthAnswer } from '../../../src/plan/oauth-call.ts'
import { createVault } from '../../../src/runtime/vault.ts'
import { API, challengeOf, GATEWAY_URL, GRANT, NOW_MS, PERSON, REDIRECT, SCOPES, VERIFIER } from './token-desk.ts'

export const PASSWORD = 'the right password'

type Fields = Readonly<Record<string, string | undefined>>

export interface LoginDesk {
  /** The subscription behind `cli_public`; may be changed between steps. */
  grant: Grant
  redirectUris: readonly string[]
  readonly consents: Consent[]
  /** Passwords that were looked at. */
  readonly compared: string[]
  forward(ms: number): void
  browser(): Browser
}

export interface Browser {
  readonly cookies: Map<string, string>
  /** `Set-Cookie` lines, as they came. */
  readonly setCookies: string[]
  /** Opens the login page; undefined leaves a parameter out, and pairs in `more` come behind. */
  open(parameters?: Fields, more?: readonly (readonly [string, string])[]): Promise<OauthAnswer>
  post(fields: Fields): Promise<OauthAnswer>
  postPairs(pairs: readonly (readonly [string, string])[]): Promise<OauthAnswer>
  /** Fills in the page's form. */
  submit(page: OauthAnswer, fields: Fields): Promise<OauthAnswer>
  logIn(page: OauthAnswer, password?: string, username?: string): Promise<OauthAnswer>
}

export interface LoginDeskOptions {
  readonly gatewayUrl?: string
  readonly scopes?: Partial<ApiScopes>
  readonly title?: string
}

export function openLoginDesk({
  gatewayUrl = GATEWAY_URL,
  scopes,
  title = 'Payments',
}: LoginDeskOptions = {}): LoginDesk {
  let nowMs = NOW_MS
  const desk: LoginDesk = {
    grant: { ...GRANT, type: 'PKCE', consumerName: 'Wallet' },
    redirectUris: [REDIRECT],
    consents: [],
    compared: [],
    forward: (ms) => (nowMs += ms),
    browser,
  }
  const flow = createAuthorizeFlow({
    clientFor: async (clientId) =>
      clientId === 'cli_public' ? { grant: desk.grant, secretHash: '', redirectUris: desk.redirectUris } : null,
    scopesOf: async (api) => (api === API || api === 'orders-v1' ? { ...SCOPES, ...scopes } : null),
    titleOf: async () => title,
    async verify(tenant, username, password) {
      desk.compared.push(password)
      return tenant === 'acme' && username === PERSON.username && password === PASSWORD ? PERSON : null
    },
    codes: { create: async (consent) => `code_${desk.consents.push(consent)}.secret` },
    vault: createVault(Buffer.alloc(32, 1)),
    clock: { nowMs: () => nowMs },
    randomBytes,
    gatewayUrl,
  })

  function browser(): Browser {
    const cookies = new Map<string, string>()
    const setCookies: string[] = []

    async function send(method: 'GET' | 'POST', form: readonly (readonly [string, string])[]): Promise<OauthAnswer> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') || undefined
      const answer = await flow({ endpoint: 'authorize', api: '', method, form, authorization: undefined, cookie })
      const line = answer.headers['Set-Cookie']
      if (line !== undefined) {
        setCookies.push(line)
        const [pair = ''] = line.split(';')
        cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
      }
      return answer
    }
    const pairs = (fields: Fields) =>
      Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const submit: Browser['submit'] = (page, fields) => send('POST', pairs({ transaction: hidden(page), ...fields }))

    return {
      cookies,
      setCookies,
      submit,
      open: (parameters = {}, more = []) => send('GET', [...pairs({ ...REQUEST, ...parameters }), ...more]),
      post: (fields) => send('POST', pairs(fields)),
      postPairs: (form) => send('POST', form),
      logIn: (page, password = PASSWORD, username = PERSON.username) => submit(page, { username, password }),
    }
  }
  return desk
}

export const REQUEST: Fields = {
  response_type: 'code',
  client_id: 'cli_public',
  code_challenge: challengeOf(VERIFIER),
  code_challenge_method: 'S256',
  state: 'xyz',
}

export function hidden({ body }: OauthAnswer): string {
  const value = /name="transaction" value="([^"]*)"/.exec(String(body))?.[1]
  if (value === undefined) throw new Error(`there is no form in ${String(body).slice(0, 2_000)}`)
  return value
}

/** The address that the browser is sent to. */
export function backOf(answer: OauthAnswer): URL {
  expect(answer.status).toBe(303)
  return new URL(answer.headers['Location'] ?? '')
}
