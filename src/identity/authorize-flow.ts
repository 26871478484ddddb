/**
 * The authorize endpoint (RFC 6749, 3.1): a person logs in, agrees, and is sent back with a code.
 *
 * The service keeps no session: what a login has come to travels sealed with the browser
 * (`sealed-transaction.ts`), and every step looks at client, subscription and redirect address afresh.
 * Whatever is wrong with the client or its address is told to the person here; all else is told to the
 * client, with `iss` (RFC 9207).
 */

import type { Clock } from '../runtime/clock.ts'
import type { Vault } from '../runtime/vault.ts'
import { scopesFor, type ApiScopes } from './access-token.ts'
import type { AuthorizationCodes } from './authorization-codes.ts'
import { consentPage, faultPage, loginPage, type LoginPage } from './authorize-pages.ts'
import { canLogIn, createAuthorizeRequests, type AuthorizeRequest, type Back } from './authorize-request.ts'
import type { RegisteredClient } from './client-authentication.ts'
import { createLoginThrottle } from './login-throttle.ts'
import { createLoginCookies } from './login-cookies.ts'
import { answer, signalled, type OauthAnswer, type OauthEndpoint } from '../plan/oauth-call.ts'
import { createSeals } from './sealed-transaction.ts'
import type { Person } from './userinfo.ts'

export interface AuthorizeFlowOptions {
  readonly clientFor: (clientId: string) => Promise<RegisteredClient | null>
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  /** What an API is called; its technical name where nothing better is known. */
  readonly titleOf: (api: string) => Promise<string>
  /** Null where name or password is wrong, after the same time. */
  readonly verify: (tenant: string, username: string, password: string) => Promise<Person | null>
  readonly codes: Pick<AuthorizationCodes, 'create'>
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly randomBytes: (size: number) => Buffer
  readonly gatewayUrl: string
}

interface Agreed extends AuthorizeRequest {
  readonly person: Person
  readonly loggedInAtMs: number
}

interface Sent {
  readonly fields: ReadonlyMap<string, string>
  readonly browser: string
  readonly cookie: string | undefined
}

const TRANSACTION_MS = 10 * 60_000
const OUTDATED = 'This login has expired, or it was started in another browser or window.'
const WRONG = 'The user name or password is incorrect.'

export function createAuthorizeFlow(options: AuthorizeFlowOptions): OauthEndpoint {
  const { clientFor, scopesOf, titleOf, verify, codes, vault, clock, gatewayUrl } = options
  const read = createAuthorizeRequests({ clientFor, scopesOf, gatewayUrl, nowMs: clock.nowMs })
  const logins = createSeals<AuthorizeRequest>({ vault, clock, stage: 'password', lifetimeMs: TRANSACTION_MS })
  const consents = createSeals<Agreed>({ vault, clock, stage: 'consent', lifetimeMs: TRANSACTION_MS })
  const cookies = createLoginCookies(options)
  const throttle = createLoginThrottle(clock)

  async function begin(form: readonly (readonly [string, string])[], cookie: string | undefined): Promise<OauthAnswer> {
    const result = await read(form)
    if ('fault' in result) return faultPage(result.fault)
    if ('error' in result) return sendBack(result.back, { error: result.error, error_description: result.description })
    const { browser, headers } = cookies.browserOf(cookie)
    return loginPage(await toLoginPage(result.request, browser, '', null), 200, headers)
  }

  async function logIn(request: AuthorizeRequest, { fields, browser, cookie }: Sent): Promise<OauthAnswer> {
    const client = await stillGood(request)
    if (client === null) return faultPage('This app is no longer allowed to ask you to log in.')
    const { tenant } = client.grant
    const [username = '', password = ''] = [fields.get('username'), fields.get('password')]
    const name = JSON.stringify([tenant, username])
    const key = cookies.deviceOf(cookie, name) ?? name
    const waitSeconds = throttle.waitSeconds(key)
    if (waitSeconds > 0) {
      const fault = `Too many attempts. Try again in ${Math.ceil(waitSeconds / 60)} min.`
      const page = await toLoginPage(request, browser, username, fault)
      return failed(request, client, loginPage(page, 429, { 'Retry-After': String(waitSeconds) }))
    }
    // Counted before it is compared: many at once are as many as one after the other.
    throttle.failed(key)
    const person = await verify(tenant, username, password)
    if (person === null) {
      return failed(request, client, loginPage(await toLoginPage(request, browser, username, WRONG), 401))
    }
    throttle.passed(key)
    const { api, redirectUri, wantsIdToken } = request
    const scopes = await scopesOfConsent(client, request)
    const transaction = consents.seal({ ...request, person, loggedInAtMs: clock.nowMs() }, browser)
    const page = { app: client.grant.consumerName, api: await shown(api), person: person.name, scopes, transaction }
    return consentPage({ ...page, sharesIdentity: wantsIdToken, redirectUri }, cookies.mark(name))
  }

  /** To nobody's account: a name that somebody typed proves nothing. */
  function failed({ api }: AuthorizeRequest, { grant }: RegisteredClient, refused: OauthAnswer): OauthAnswer {
    return signalled(refused, { api: api === '' ? grant.api : api, outcome: 'credential_invalid', grant: null })
  }

  async function decide(agreed: Agreed, decision: string | undefined): Promise<OauthAnswer> {
    const client = await stillGood(agreed)
    if (client === null) return faultPage('This app is no longer allowed to act on your behalf.')
    if (decision !== 'allow') {
      return sendBack(agreed, { error: 'access_denied', error_description: 'The user denied the request.' })
    }
    const { state: _, ...consent } = agreed
    const { tenant, credential } = client.grant
    return sendBack(agreed, { code: await codes.create({ ...consent, tenant, credential }) })
  }

  async function stillGood({ clientId, redirectUri }: AuthorizeRequest): Promise<RegisteredClient | null> {
    const client = await clientFor(clientId)
    if (client === null || !canLogIn(client, clock.nowMs()) || !client.grant.active) return null
    return client.redirectUris.includes(redirectUri) ? client : null
  }

  async function toLoginPage(
    request: AuthorizeRequest,
    browser: string,
    username: string,
    fault: string | null,
  ): Promise<LoginPage> {
    const { clientId, api, redirectUri } = request
    const app = (await clientFor(clientId))?.grant.consumerName ?? ''
    return { app, api: await shown(api), transaction: logins.seal(request, browser), redirectUri, username, fault }
  }

  async function shown(api: string): Promise<string> {
    return api === '' ? '' : titleOf(api)
  }

  async function scopesOfConsent({ grant }: RegisteredClient, { api, scope }: AuthorizeRequest): Promise<string[]> {
    const target = api === '' ? { declared: grant.scopes, allowed: grant.scopes } : await scopesOf(api)
    return target === null ? [] : scopesFor(grant, target, scope)
  }

  /** 303: the browser asks for the address, and does not send the form there. */
  function sendBack({ redirectUri, state, api }: Back, parameters: Readonly<Record<string, string>>): OauthAnswer {
    const url = new URL(redirectUri)
    const added = new URLSearchParams(parameters)
    if (state !== null) added.set('state', state)
    if (api !== '') added.set('iss', `${gatewayUrl}/${api}`)
    url.search = `${url.search}${url.search === '' ? '?' : '&'}${added.toString()}`
    return answer(303, null, { Location: url.href, 'Referrer-Policy': 'no-referrer' })
  }

  return async ({ method, form, cookie }) => {
    const transaction = form.find(([name]) => name === 'transaction')?.[1]
    if (method === 'GET' || transaction === undefined) return begin(form, cookie)
    const fields = new Map(form)
    if (fields.size !== form.length) return faultPage('The form contains a field more than once.')
    const browser = cookies.known(cookie)
    if (browser === null) return faultPage(`${OUTDATED} Check that your browser accepts cookies.`)
    if (fields.has('decision')) {
      const agreed = consents.open(transaction, browser)
      return agreed === null ? faultPage(OUTDATED) : decide(agreed, fields.get('decision'))
    }
    const request = logins.open(transaction, browser)
    return request === null ? faultPage(OUTDATED) : logIn(request, { fields, browser, cookie })
  }
}
