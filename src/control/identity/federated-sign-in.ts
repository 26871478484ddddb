/**
 * The step of a sign-in at an identity provider: to the provider with PKCE, `nonce` and `state`, and back.
 *
 * As in the other steps, the service keeps nothing. `state` is the sealed transaction with the secrets of the sign-in, so that only the
 * browser in which it began can finish it. The provider is responsible for a second factor. A fault of the provider is shown to the
 * person without its text, which a stranger could have written into the address.
 */

import type { FederatedPeople, SignInRefusal } from '../access/people/federated-people.ts'
import type { Claims } from '../access/people/role-mapping.ts'
import type { SignInProviders } from '../access/sign-in-providers.ts'
import type { OauthAnswer, OauthCall } from '../../boundary/plan/oauth-call.ts'
import { answer } from '../../boundary/plan/oauth-call.ts'
import { faultPage } from './authorize-pages.ts'
import type { AuthorizeRequest, LoggedInRequest } from './authorize-request.ts'
import type { CodeExchange, SignInProof } from './federation/code-exchange.ts'
import { createSeals, type SealsOptions } from './sealed-transaction.ts'

/** The sealed state of this step. */
export interface FederatedStep {
  readonly request: AuthorizeRequest
  readonly provider: string
  readonly proof: SignInProof
}

export type FederatedResult =
  | { readonly request: LoggedInRequest }
  /** Shown to the person. */
  | { readonly page: OauthAnswer }
  /** The person has cancelled: sent to the client. */
  | { readonly isDenied: true }

export interface FederatedSignIn {
  readonly list: SignInProviders['list']
  /** Returns the redirect to the provider, or a page with the fault; null if the client sent more than fits into `state`. */
  begin(tenant: string, request: AuthorizeRequest, provider: string, browser: string): Promise<OauthAnswer | null>
  /** Returns null if the call does not come from a sign-in that this browser has begun at this provider. */
  open(call: OauthCall, browser: string): FederatedStep | null
  finish(tenant: string, step: FederatedStep, call: OauthCall): Promise<FederatedResult>
}

export interface FederatedSignInOptions extends Omit<SealsOptions, 'stage'> {
  readonly providers: SignInProviders
  readonly people: Pick<FederatedPeople, 'signIn'>
  readonly exchange: CodeExchange
  readonly randomBytes: (size: number) => Buffer
  /** Receives why a provider could not sign a person in. */
  readonly onFault: (provider: string, fault: string) => void
}

/** Longer addresses are refused by some providers. */
const STATE_LENGTH_MAX = 4_096
const SECRET_BYTES = 32
/** Exchanges with one provider at a time. */
const EXCHANGES_MAX = 16
const CLOSED = 'This way to sign in is no longer offered.'
const REFUSALS: Readonly<Record<SignInRefusal, string>> = {
  provider_closed: CLOSED,
  person_unknown: 'You have no account here. Ask the administrator of your organisation.',
  person_disabled: 'Your account is disabled. Ask the administrator of your organisation.',
  no_role: 'You have no role here. Ask the administrator of your organisation.',
}

export function createFederatedSignIn(options: FederatedSignInOptions): FederatedSignIn {
  const { providers, people, exchange, randomBytes, clock, onFault } = options
  const seals = createSeals<FederatedStep>({ ...options, stage: 'provider' })
  const bulkhead = createBulkhead()
  const secret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

  return {
    list: providers.list,
    async begin(tenant, request, provider, browser) {
      const party = await providers.find(tenant, provider)
      if (party === null) return faultPage(CLOSED)
      const proof = { nonce: secret(), verifier: secret() }
      const state = seals.seal({ request, provider, proof }, browser)
      if (state.length > STATE_LENGTH_MAX) return null
      const url = exchange.authorizationUrl(party, proof, { state, needsNewLogin: request.needsNewLogin === true })
      if (url === null) return failedPage(party.name)
      return answer(303, null, { Location: url, 'Referrer-Policy': 'no-referrer' })
    },
    open({ form, provider }, browser) {
      const states = form.filter(([name]) => name === 'state')
      const step = states.length === 1 ? seals.open(states[0]?.[1] ?? '', browser) : null
      return step !== null && step.provider === provider ? step : null
    },
    async finish(tenant, { request, provider, proof }, { form }) {
      const party = await providers.find(tenant, provider)
      if (party === null) return { page: faultPage(CLOSED) }
      const parameters = new URLSearchParams(form.map(([name, value]) => [name, value]))
      const result = await bulkhead(provider, () => exchange.redeem(party, proof, parameters))
      if (result === null)
        return { page: faultPage('Too many sign-ins at the moment. Try again.', 503, { 'Retry-After': '5' }) }
      if ('refused' in result && result.refused === 'access_denied') return { isDenied: true }
      if (!('claims' in result)) {
        onFault(provider, 'refused' in result ? `the provider answered ${result.refused.slice(0, 64)}` : result.fault)
        return { page: failedPage(party.name) }
      }
      const signedIn = await people.signIn(tenant, provider, result.claims)
      if ('refused' in signedIn) return { page: faultPage(REFUSALS[signedIn.refused], 403) }
      const loggedInAtMs = loggedInAt(result.claims, clock.nowMs())
      return { request: { ...request, person: signedIn.person, loggedInAtMs } }
    },
  }
}

/** Runs a limited number of tasks per key; returns null above it. */
function createBulkhead() {
  const running = new Map<string, number>()
  return async <T>(key: string, task: () => Promise<T>): Promise<T | null> => {
    const count = running.get(key) ?? 0
    if (count >= EXCHANGES_MAX) return null
    running.set(key, count + 1)
    try {
      return await task()
    } finally {
      const left = (running.get(key) ?? 1) - 1
      if (left === 0) running.delete(key)
      else running.set(key, left)
    }
  }
}

function failedPage(name: string): OauthAnswer {
  return faultPage(
    `The sign-in at ${name} has failed. Try again later, or ask the administrator of your organisation.`,
    502,
  )
}

/** The provider may have signed the person in earlier. */
function loggedInAt({ auth_time: seconds }: Claims, nowMs: number): number {
  return typeof seconds === 'number' && seconds > 0 && seconds * 1_000 < nowMs ? Math.floor(seconds) * 1_000 : nowMs
}
