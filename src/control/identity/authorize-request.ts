/**
 * Validates authorization requests (RFC 6749, 4.1.1; RFC 7636; RFC 8707; OpenID Connect Core, 3.1.2.1).
 *
 * Accepts only the code flow with S256. An error is sent to a redirect URI only if the client has registered exactly that
 * URI; otherwise it is shown to the person.
 */

import { isLoopbackUri, isRegisteredUri } from '../access/redirect-uri.ts'
import type { ApiScopes } from './access-token.ts'
import { isSubscribed } from './access-token.ts'
import { mayUseDevices, type RegisteredClient } from './client-authentication.ts'
import { isChallenge } from './pkce.ts'
import { apiOfResource, type ResourceAddresses } from './resource.ts'
import type { Person } from './userinfo.ts'

export interface AuthorizeRequest {
  readonly clientId: string
  readonly redirectUri: string
  /** `''`: the member of the client's product that redeems the code. */
  readonly api: string
  readonly challenge: string
  /** Null if none was sent. */
  readonly scope: string | null
  readonly wantsIdToken: boolean
  readonly wantsProfile: boolean
  readonly nonce: string | null
  readonly state: string | null
  /** The client does not accept an earlier sign-in (`prompt=login`, `max_age`), which only an identity provider remembers. */
  readonly needsNewLogin?: true
  /** The device that waits for the answer, instead of an address (RFC 8628). */
  readonly device?: { readonly id: string; readonly userCode: string }
  /** The organisation that the person has named, if the client belongs to none. */
  readonly organisation?: string
}

/** A request whose person has signed in. */
export interface LoggedInRequest extends AuthorizeRequest {
  readonly person: Person
  readonly loggedInAtMs: number
}

export type AuthorizeResult =
  | { readonly request: AuthorizeRequest }
  /** Shown to the person. */
  | { readonly fault: string }
  /** Sent to the client by redirect. */
  | { readonly error: string; readonly description: string; readonly back: Back }

/** The redirect back to the client. */
export interface Back {
  readonly redirectUri: string
  readonly state: string | null
  /** `''` if not known yet. */
  readonly api: string
  readonly device?: AuthorizeRequest['device']
}

export interface AuthorizeRequestOptions extends ResourceAddresses {
  readonly clientFor: (clientId: string) => Promise<RegisteredClient | null>
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  readonly nowMs: () => number
}

export type ReadAuthorizeRequest = (form: readonly (readonly [string, string])[]) => Promise<AuthorizeResult>

const STATE_LENGTH_MAX = 4_096
/** The request travels in the forms of the pages, with what later steps add. */
const REQUEST_BYTES_MAX = 7_800
const UNKNOWN_CLIENT =
  'The app that sent you here is not registered to sign people in, or not with the address to return to.'

export function createAuthorizeRequests(options: AuthorizeRequestOptions): ReadAuthorizeRequest {
  const { clientFor, scopesOf, nowMs } = options

  return async (form) => {
    const values = new Map(form)
    const twice = namesSentTwice(form)
    if (twice.has('client_id') || twice.has('redirect_uri'))
      return { fault: 'The app sent client_id or redirect_uri more than once.' }
    const clientId = values.get('client_id') ?? ''
    const client = clientId === '' ? null : await clientFor(clientId)
    // One answer for all of these, so that it does not reveal whether a client exists.
    if (client === null || !canLogIn(client, nowMs())) return { fault: UNKNOWN_CLIENT }
    const redirectUri = values.get('redirect_uri') ?? onlyOne(client.redirectUris)
    if (redirectUri === null || !mayReturnTo(client, redirectUri)) return { fault: UNKNOWN_CLIENT }

    const { grant } = client
    const state = values.get('state') ?? null
    const refuse = (error: string, description: string, api = grant.api): AuthorizeResult => {
      // Anyone can publish or register such a client, and would have a redirect of this service to any address (RFC 9700, 4.11.2).
      if (client.asksOrganisation === true || client.isSelfRegistered === true)
        return { fault: `The app sent a request that is not valid: ${description}` }
      return { error, description, back: { redirectUri, api, state: twice.has('state') ? null : state } }
    }
    const [again] = twice
    if (again !== undefined) return refuse('invalid_request', `${printable(again)} must not be sent more than once.`)
    const fault = faultOf(values)
    if (fault !== null) return refuse(fault.error, fault.description)
    const resource = values.get('resource')
    const api = resource === undefined ? grant.api : apiOfResource(options, resource)
    if (api === null) return refuse('invalid_target', 'resource must be the address of an API of this gateway.')
    if (!(await isOpenTo(scopesOf, client, api))) {
      const isOther = values.has('resource') && api !== grant.api
      return isOther
        ? refuse('invalid_target', 'The client has no active subscription to the API that resource names.')
        : refuse('unauthorized_client', 'The client has no active subscription.')
    }
    const asked = new Set((values.get('scope') ?? '').split(' '))
    const request: AuthorizeRequest = {
      clientId,
      redirectUri,
      api,
      challenge: values.get('code_challenge') ?? '',
      scope: values.get('scope') || null,
      wantsIdToken: asked.has('openid'),
      wantsProfile: asked.has('profile'),
      nonce: values.get('nonce') ?? null,
      state,
      ...(needsNewLogin(values) && { needsNewLogin: true }),
    }
    if (Buffer.byteLength(JSON.stringify(request)) > REQUEST_BYTES_MAX) {
      return refuse('invalid_request', 'state, nonce, scope and redirect_uri are too long together.')
    }
    return { request }
  }
}

function namesSentTwice(form: readonly (readonly [string, string])[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const [name] of form) (seen.has(name) ? twice : seen).add(name)
  return twice
}

export async function isOpenTo(
  scopesOf: AuthorizeRequestOptions['scopesOf'],
  { grant }: Pick<RegisteredClient, 'grant'>,
  api: string,
): Promise<boolean> {
  if (api === '') return grant.active && grant.apiProductId !== ''
  const target = await scopesOf(api)
  return target !== null && isSubscribed(grant, api, target)
}

/** Returns the client of a request if it may still sign people in and return to where the request says. */
export async function findLoginClient(
  clientFor: (clientId: string, organisation?: string) => Promise<RegisteredClient | null>,
  { clientId, redirectUri, organisation, device }: AuthorizeRequest,
  nowMs: number,
): Promise<RegisteredClient | null> {
  const client = await clientFor(clientId, organisation)
  if (client === null || !canLogIn(client, nowMs) || !client.grant.active) return null
  const { secretHash, mayRefresh } = client
  if (device !== undefined) return mayUseDevices({ isPublic: secretHash === '', mayRefresh }) ? client : null
  return mayReturnTo(client, redirectUri) ? client : null
}

/** Returns whether a client may sign people in: it has a redirect URI and is valid. */
function canLogIn({ grant, redirectUris, isLocal }: RegisteredClient, nowMs: number): boolean {
  if (redirectUris.length === 0 && isLocal !== true) return false
  if (grant.type === 'ApiKey' || grant.type === 'Federated') return false
  return grant.valid && (grant.expiresAtMs === 0 || grant.expiresAtMs > nowMs)
}

/** Returns whether the browser may be sent to this address with an answer for the client. */
function mayReturnTo({ redirectUris, isLocal }: RegisteredClient, uri: string): boolean {
  return isRegisteredUri(redirectUris, uri) || (isLocal === true && isLoopbackUri(uri))
}

function faultOf(values: ReadonlyMap<string, string>): { error: string; description: string } | null {
  const wrong = (error: string, description: string) => ({ error, description })
  const type = values.get('response_type')
  if (type === undefined) return wrong('invalid_request', 'response_type is missing.')
  if (type !== 'code') return wrong('unsupported_response_type', 'response_type must be code.')
  if ((values.get('response_mode') ?? 'query') !== 'query')
    return wrong('invalid_request', 'response_mode must be query.')
  if (values.has('request'))
    return wrong('request_not_supported', 'Request objects are not supported; send the parameters directly.')
  if (values.has('request_uri'))
    return wrong('request_uri_not_supported', 'Request objects are not supported; send the parameters directly.')
  if (values.get('code_challenge_method') !== 'S256')
    return wrong('invalid_request', 'code_challenge_method must be S256.')
  if (!isChallenge(values.get('code_challenge') ?? ''))
    return wrong(
      'invalid_request',
      'code_challenge must be the SHA-256 hash of the code_verifier in base64url (43 characters).',
    )
  if ((values.get('state') ?? '').length > STATE_LENGTH_MAX) return wrong('invalid_request', 'state is too long.')
  if ((values.get('nonce') ?? '').length > STATE_LENGTH_MAX) return wrong('invalid_request', 'nonce is too long.')
  // Every request needs a sign-in, because the service keeps no sessions.
  if ((values.get('prompt') ?? '').split(' ').includes('none'))
    return wrong('login_required', 'The user has to sign in; prompt=none is not supported.')
  return null
}

function needsNewLogin(values: ReadonlyMap<string, string>): boolean {
  return (values.get('prompt') ?? '').split(' ').includes('login') || values.has('max_age')
}

function onlyOne(uris: readonly string[]): string | null {
  return uris.length === 1 ? (uris[0] ?? null) : null
}

/** Reduces a parameter name to the characters that an error description may contain (RFC 6749, 4.1.2.1). */
function printable(text: string): string {
  return text.slice(0, 64).replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?')
}
