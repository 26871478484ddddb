/**
 * The authorization endpoint (RFC 6749, 3.1): sign-in, consent, and the redirect back with a code.
 *
 * The service keeps no session. The state of a sign-in travels in the form, sealed for the browser
 * (`sealed-transaction.ts`), and every step reads client, subscription and redirect URI again. A fault of the client or
 * its redirect URI is shown to the person. Every other error goes to the client, with `iss` (RFC 9207).
 */

import type { GrantPerson, PersonGrant } from '../access/people/person-grants.ts'
import { isSharedClient } from '../../boundary/plan/grant.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import { entitledTo, scopesFor, type ApiScopes } from './access-token.ts'
import type { AuthorizationCodes } from './authorization-codes.ts'
import { sendBack } from './authorize-answer.ts'
import { consentPage, faultPage } from './authorize-pages.ts'
import {
  createAuthorizeRequests,
  findLoginClient,
  type AuthorizeRequest,
  type LoggedInRequest,
  type ReadAuthorizeRequest,
} from './authorize-request.ts'
import type { RegisteredClient } from './client-authentication.ts'
import { createDeviceStep, type DeviceStep, type DeviceStepOptions } from './device-step.ts'
import { createLoginStep, type LoginStep } from './login-step.ts'
import { createLoginCookies, type LoginCookies } from './login-cookies.ts'
import { createFederatedSignIn, type FederatedSignIn, type FederatedSignInOptions } from './federated-sign-in.ts'
import { signalled, type OauthAnswer, type OauthCall, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'
import { createSecondFactorStep, type SecondFactorStep, type SecondFactorStepOptions } from './second-factor-step.ts'
import { createSeals, type Seals } from './sealed-transaction.ts'
import type { Person } from './userinfo.ts'

export interface AuthorizeFlowOptions
  extends
    Pick<SecondFactorStepOptions, 'secondFactors' | 'throttle'>,
    Pick<DeviceStepOptions, 'deviceCodes' | 'deviceThrottle'>,
    Pick<FederatedSignInOptions, FederationParts> {
  readonly clientFor: (clientId: string, organisation?: string) => Promise<RegisteredClient | null>
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  /** Returns the title of an API, or its technical name if it has none. */
  readonly titleOf: (api: string) => Promise<string>
  /** Returns null if the user name or the password is wrong, after the same time in both cases. */
  readonly verify: (tenant: string, username: string, password: string) => Promise<Person | null>
  readonly grantPerson: GrantPerson
  readonly codes: Pick<AuthorizationCodes, 'create'>
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly randomBytes: (size: number) => Buffer
  readonly gatewayUrl: string
  readonly baseUrl: string
}

type FederationParts = 'providers' | 'people' | 'exchange' | 'onFault'

interface Flow extends AuthorizeFlowOptions {
  readonly readRequest: ReadAuthorizeRequest
  readonly loginSeals: Seals<AuthorizeRequest>
  readonly loginStep: LoginStep
  readonly secondFactorStep: SecondFactorStep
  readonly federatedSignIn: FederatedSignIn
  readonly deviceStep: DeviceStep
  readonly consentSeals: Seals<LoggedInRequest>
  readonly cookies: LoginCookies
}

interface SubmittedForm {
  readonly fields: ReadonlyMap<string, string>
  readonly browser: string
  readonly cookie: string | undefined
}

const TRANSACTION_MS = 10 * 60_000
const ORGANISATION_LENGTH_MAX = 256
const EXPIRED = 'This sign-in has expired, or it was started in another browser or window.'
const WRONG_PASSWORD = 'The user name or password is incorrect.'

export function createAuthorizeFlow(options: AuthorizeFlowOptions): OauthEndpoint {
  const { vault, clock } = options
  const loginSeals = createSeals<AuthorizeRequest>({ vault, clock, stage: 'password', lifetimeMs: TRANSACTION_MS })
  const federatedSignIn = createFederatedSignIn({ ...options, lifetimeMs: TRANSACTION_MS })
  const flow: Flow = {
    ...options,
    readRequest: createAuthorizeRequests({ ...options, nowMs: clock.nowMs }),
    loginSeals,
    loginStep: createLoginStep({ ...options, loginSeals, federatedSignIn }),
    secondFactorStep: createSecondFactorStep({ ...options, lifetimeMs: TRANSACTION_MS }),
    federatedSignIn,
    deviceStep: createDeviceStep({ ...options, lifetimeMs: TRANSACTION_MS }),
    consentSeals: createSeals({ vault, clock, stage: 'consent', lifetimeMs: TRANSACTION_MS }),
    cookies: createLoginCookies(options),
  }

  return async (call) => {
    const { endpoint, method, form, cookie } = call
    if (endpoint === 'callback') return returnFromProvider(flow, call)
    if (endpoint === 'device') return enterUserCode(flow, call)
    const transaction = form.find(([name]) => name === 'transaction')?.[1]
    if (method === 'GET' || transaction === undefined) return begin(flow, form, cookie)
    const fields = new Map(form)
    if (fields.size !== form.length) return faultPage('The form contains a field more than once.')
    const browser = flow.cookies.readBrowser(cookie)
    if (browser === null) return faultPage(`${EXPIRED} Check that your browser accepts cookies.`)
    if (fields.has('decision')) {
      const request = flow.consentSeals.open(transaction, browser)
      return request === null ? faultPage(EXPIRED) : decide(flow, request, fields.get('decision'))
    }
    if (fields.has('code')) return submitCode(flow, transaction, { fields, browser, cookie })
    const begun = flow.loginSeals.open(transaction, browser)
    if (begun === null) return faultPage(EXPIRED)
    const organisation = fields.get('organisation')?.slice(0, ORGANISATION_LENGTH_MAX)
    const request: AuthorizeRequest = { ...begun, ...(organisation !== undefined && { organisation }) }
    const submitted = { fields, browser, cookie }
    return fields.has('provider') ? goToProvider(flow, request, submitted) : logIn(flow, request, submitted)
  }
}

/** Validates the request of the client and shows the sign-in page. */
async function begin(
  flow: Flow,
  form: readonly (readonly [string, string])[],
  cookie: string | undefined,
): Promise<OauthAnswer> {
  const result = await flow.readRequest(form)
  if ('fault' in result) return faultPage(result.fault)
  if ('error' in result)
    return sendBack(flow, result.back, { error: result.error, error_description: result.description })
  const { browser, headers } = flow.cookies.ensureBrowser(cookie)
  return flow.loginStep.show(result.request, browser, { headers })
}

/** Asks for the code of a device, and shows the sign-in page for its client. */
async function enterUserCode(flow: Flow, call: OauthCall): Promise<OauthAnswer> {
  const entered = await flow.deviceStep.enter(call)
  if ('page' in entered) return entered.page
  return flow.loginStep.show(entered.request, entered.browser)
}

/** Checks the password; shows the page of the second factor, or the consent page. */
async function logIn(flow: Flow, request: AuthorizeRequest, form: SubmittedForm): Promise<OauthAnswer> {
  const { cookies, loginStep, throttle, verify } = flow
  const { fields, browser, cookie } = form
  const client = await findClient(flow, request)
  if (client === null) return faultPage('This app is no longer allowed to ask you to sign in.')
  const { tenant } = client.grant
  const [username = '', password = ''] = [fields.get('username'), fields.get('password')]
  const account = accountOf(client, username)
  const key = cookies.deviceOf(cookie, account) ?? account
  // Counted before the comparison, so that concurrent attempts count like consecutive ones.
  const waitSeconds = await throttle.begin(key)
  if (waitSeconds > 0) {
    const fault = `Too many attempts. Try again in ${Math.ceil(waitSeconds / 60)} min.`
    const headers = { 'Retry-After': String(waitSeconds) }
    const page = await loginStep.show(request, browser, { username, fault, status: 429, headers })
    return failedLogin(request, client, page)
  }
  const person = await verify(tenant, username, password)
  if (person === null) {
    const page = await loginStep.show(request, browser, { username, fault: WRONG_PASSWORD, status: 401 })
    return failedLogin(request, client, page)
  }
  await throttle.succeed(key)
  const loggedIn = { ...request, person, loggedInAtMs: flow.clock.nowMs() }
  return (await flow.secondFactorStep.begin(tenant, loggedIn, browser)) ?? showConsent(flow, client, loggedIn, form)
}

/** Checks the code of the second factor and shows the consent page. */
async function submitCode(flow: Flow, transaction: string, form: SubmittedForm): Promise<OauthAnswer> {
  const { fields, browser } = form
  const step = flow.secondFactorStep.open(transaction, browser)
  if (step === null) return faultPage(EXPIRED)
  const { request } = step
  const client = await findClient(flow, request)
  if (client === null) return faultPage('This app is no longer allowed to ask you to sign in.')
  const result = await flow.secondFactorStep.check(client.grant.tenant, step, browser, fields.get('code') ?? '')
  if ('page' in result) return failedLogin(request, client, result.page)
  return showConsent(flow, client, request, form, result.recoveryCodes)
}

/** Sends the browser to an identity provider of the tenant; lists the providers if the form names none. */
async function goToProvider(
  flow: Flow,
  request: AuthorizeRequest,
  { fields, browser }: SubmittedForm,
): Promise<OauthAnswer> {
  const client = await findClient(flow, request)
  if (client === null) return faultPage('This app is no longer allowed to ask you to sign in.')
  const { tenant } = client.grant
  const provider = fields.get('provider') ?? ''
  if (provider === '') return flow.loginStep.showProviders(tenant, request, browser)
  const redirect = await flow.federatedSignIn.begin(tenant, request, provider, browser)
  if (redirect !== null) return redirect
  const description = 'state and nonce are too long for a sign-in at an identity provider.'
  return sendBack(flow, request, { error: 'invalid_request', error_description: description })
}

/** Signs in the person whom the provider names, and shows the consent page. */
async function returnFromProvider(flow: Flow, call: OauthCall): Promise<OauthAnswer> {
  const browser = flow.cookies.readBrowser(call.cookie)
  const step = browser === null ? null : flow.federatedSignIn.open(call, browser)
  if (browser === null || step === null) return faultPage(EXPIRED)
  const client = await findClient(flow, step.request)
  if (client === null) return faultPage('This app is no longer allowed to ask you to sign in.')
  const result = await flow.federatedSignIn.finish(client.grant.tenant, step, call)
  if ('isDenied' in result) {
    const error_description = 'The user cancelled the sign-in at the identity provider.'
    return sendBack(flow, step.request, { error: 'access_denied', error_description })
  }
  if ('page' in result) return failedLogin(step.request, client, result.page)
  return showConsent(flow, client, result.request, { fields: new Map(), browser, cookie: call.cookie })
}

async function showConsent(
  flow: Flow,
  client: RegisteredClient,
  request: LoggedInRequest,
  { browser }: SubmittedForm,
  recoveryCodes: readonly string[] = [],
): Promise<OauthAnswer> {
  const { api, person, redirectUri, wantsIdToken } = request
  const { grant } = client
  const granted = await flow.grantPerson({ client: grant, tenant: grant.tenant, api, person })
  if (granted === null) return faultPage(EXPIRED)
  if (granted === 'unsubscribed') {
    const description = 'No consumer of the user has an active subscription to this API.'
    return sendBack(flow, request, { error: 'access_denied', error_description: description })
  }
  const mark = flow.cookies.markDevice(accountOf(client, person.username))
  // New recovery codes have to be shown.
  if (client.isOwnPage === true && request.device === undefined && recoveryCodes.length === 0) {
    const redirect = await decide(flow, request, 'allow')
    return { ...redirect, headers: { ...redirect.headers, ...mark } }
  }
  const page = {
    app: grant.consumerName,
    api: api === '' ? '' : await flow.titleOf(api),
    person: person.name,
    scopes: await scopesOfConsent(flow, granted, request),
    sharesIdentity: wantsIdToken,
    recoveryCodes,
    transaction: flow.consentSeals.seal(request, browser),
    redirectUri,
    userCode: request.device?.userCode ?? null,
    isKept: client.mayRefresh,
    isSelfRegistered: client.isSelfRegistered === true,
  }
  return consentPage(page, mark)
}

/** Returns the name of an account for the throttle and the device cookie. */
function accountOf({ grant }: RegisteredClient, username: string): string {
  return JSON.stringify([grant.tenant, username])
}

/** Signals the failed attempt without a subject: a user name that was typed proves no identity. */
function failedLogin({ api }: AuthorizeRequest, { grant }: RegisteredClient, refused: OauthAnswer): OauthAnswer {
  return signalled(refused, { api: api === '' ? grant.api : api, outcome: 'credential_invalid', grant: null })
}

/** Redirects to the client, with a code if the person allowed the access. */
async function decide(flow: Flow, request: LoggedInRequest, decision: string | undefined): Promise<OauthAnswer> {
  const client = await findClient(flow, request)
  if (client === null) return faultPage('This app is no longer allowed to act on your behalf.')
  if (decision !== 'allow') {
    return sendBack(flow, request, { error: 'access_denied', error_description: 'The user denied the request.' })
  }
  const { state: _, organisation: __, needsNewLogin: ___, device, ...consent } = request
  const { tenant } = client.grant
  // The tokens of a shared client are bounded per person.
  const credential = isSharedClient(client.grant) ? request.person.id : client.grant.credential
  if (device !== undefined) return flow.deviceStep.allow(device, { ...consent, tenant })
  return sendBack(flow, request, { code: await flow.codes.create({ ...consent, tenant, credential }) })
}

function findClient({ clientFor, clock }: Flow, request: AuthorizeRequest): Promise<RegisteredClient | null> {
  return findLoginClient(clientFor, request, clock.nowMs())
}

async function scopesOfConsent(
  { scopesOf }: Flow,
  { grant, scopes }: PersonGrant,
  { api, scope }: AuthorizeRequest,
): Promise<string[]> {
  const target = api === '' ? { declared: grant.scopes, allowed: grant.scopes } : await scopesOf(api)
  return target === null ? [] : scopesFor(grant, entitledTo(target, scopes), scope)
}
