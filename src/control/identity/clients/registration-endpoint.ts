/**
 * The registration endpoint (RFC 7591, 3): an unknown client gets an id, and nothing else. It can ask people to
 * sign in; only they can give it access.
 */

import { isDisabled } from '../../access/platform-access.ts'
import { answer, refuse, type OauthAnswer, type OauthEndpoint } from '../../../boundary/plan/oauth-call.ts'
import type { CountEvent } from '../../../foundation/runtime/event-reasons.ts'
import type { Registry } from '../../../storage/store/registry.ts'
import type { RegistrationBudget } from './registration-budget.ts'
import { readRegistration, type ClientRegistration } from './registration-request.ts'
import type { NewRegisteredClient, SelfRegisteredClients } from './self-registered-clients.ts'

export interface RegistrationEndpointOptions {
  readonly registry: Pick<Registry, 'get'>
  readonly isAllowed: boolean
  /** Returns null if no such API is published. */
  readonly scopesOf: (api: string) => Promise<{ readonly tenant: string } | null>
  readonly clients: Pick<SelfRegisteredClients, 'create'>
  readonly budget: RegistrationBudget
  readonly count: CountEvent
}

const FULL_SECONDS = 3_600

export function createRegistrationEndpoint(options: RegistrationEndpointOptions): OauthEndpoint {
  const { registry, isAllowed, scopesOf, clients, budget, count } = options

  function tooMany(seconds: number): OauthAnswer {
    count('client_registration_refused')
    const body = {
      error: 'temporarily_unavailable',
      error_description: 'Too many clients have registered; retry after the time in the Retry-After header.',
    }
    return answer(429, body, { 'Retry-After': String(seconds) })
  }

  return async ({ api, json = null, address }) => {
    const target = isAllowed ? await scopesOf(api) : null
    if (target === null || (await isDisabled(registry, target.tenant))) {
      return refuse('invalid_request', 'Clients cannot register here.', 404)
    }
    const registration = readRegistration(json)
    if ('fault' in registration) return refuse(registration.error, registration.fault)
    const waitSeconds = await budget.take(target.tenant, address)
    if (waitSeconds > 0) return tooMany(waitSeconds)
    const created = await clients.create(target.tenant, api, registration)
    return created === null ? tooMany(FULL_SECONDS) : answer(201, toAnswer(registration, created))
  }
}

/** Says what was registered, which can differ from what the client asked for (RFC 7591, 3.2.1). */
function toAnswer({ name, redirectUris }: ClientRegistration, { id, registeredAtMs }: NewRegisteredClient): object {
  return {
    client_id: id,
    client_id_issued_at: Math.floor(registeredAtMs / 1_000),
    ...(name !== '' && { client_name: name }),
    redirect_uris: redirectUris,
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}
