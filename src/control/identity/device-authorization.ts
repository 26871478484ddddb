/**
 * The device authorization endpoint (RFC 8628, 3.1): a device without a browser begins a sign-in, which a person continues elsewhere.
 *
 * For public clients that are entitled to refresh tokens.
 */

import type { ApiScopes } from './access-token.ts'
import { isOpenTo } from './authorize-request.ts'
import { mayUseDevices, type AuthenticateClient } from './client-authentication.ts'
import type { DeviceCodes, NewDeviceCode } from './device-codes.ts'
import { answer, refuse, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'
import { apiOfResource, type ResourceAddresses } from './resource.ts'
import { readForm } from './token-request.ts'

export interface DeviceAuthorizationOptions extends ResourceAddresses {
  readonly authenticateClient: AuthenticateClient
  readonly scopesOf: (api: string) => Promise<ApiScopes | null>
  readonly deviceCodes: Pick<DeviceCodes, 'create'>
}

/** Bounds what is stored for a sign-in in progress. */
const SCOPE_LENGTH_MAX = 1_000

export function createDeviceAuthorization(options: DeviceAuthorizationOptions): OauthEndpoint {
  const { authenticateClient, scopesOf, deviceCodes, gatewayUrl } = options

  return async ({ form, authorization, address, certificate }) => {
    const fields = readForm(form)
    if ('fault' in fields) return refuse('invalid_request', fields.fault)
    const { values } = fields
    const client = await authenticateClient('', values, authorization, certificate)
    if ('refused' in client) return client.refused
    if (!mayUseDevices(client)) return refuse('unauthorized_client', 'The client may not sign people in on devices.')
    const { clientId, grant } = client
    const resource = values.get('resource')
    const api = resource === undefined ? grant.api : apiOfResource(options, resource)
    if (api === null || !(await isOpenTo(scopesOf, client, api))) {
      return refuse('invalid_target', 'resource must be the address of an API that the client is subscribed to.')
    }
    const scope = values.get('scope') ?? null
    if (scope !== null && scope.length > SCOPE_LENGTH_MAX) return refuse('invalid_scope', 'scope is too long.')
    const asked = new Set((scope ?? '').split(' '))
    const request = { clientId, api, scope, wantsIdToken: asked.has('openid'), wantsProfile: asked.has('profile') }
    return answer(200, toAnswer(gatewayUrl, await deviceCodes.create(request, address)))
  }
}

function toAnswer(gatewayUrl: string, code: NewDeviceCode): object {
  const verificationUri = `${gatewayUrl}/oauth2/v2/device`
  return {
    device_code: code.deviceCode,
    user_code: code.userCode,
    verification_uri: verificationUri,
    verification_uri_complete: `${verificationUri}?user_code=${code.userCode}`,
    expires_in: code.expiresInSeconds,
    interval: code.intervalSeconds,
  }
}
