/** `grant_type=urn:ietf:params:oauth:grant-type:device_code` (RFC 8628, 3.4): a device asks whether the person has decided. */

import type { DeviceCodes } from './device-codes.ts'
import { mayUseDevices } from './client-authentication.ts'
import type { IssueLogin } from './login-tokens.ts'
import { refuse, type OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import type { IssueToken } from './token-grants.ts'
import type { Registry } from '../../storage/store/registry.ts'

export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

export interface DeviceExchangeOptions {
  readonly deviceCodes: Pick<DeviceCodes, 'poll' | 'take'>
  readonly registry: Pick<Registry, 'commit'>
}

const REFUSALS = {
  unknown: ['invalid_grant', 'The device code is invalid, or it was used or issued for another client or API.'],
  expired: ['expired_token', 'The device code has expired. Begin again.'],
  pending: ['authorization_pending', 'The person has not decided yet.'],
  'too fast': ['slow_down', 'Wait five seconds longer between two requests.'],
  denied: ['access_denied', 'The person has denied the request.'],
} as const

export function createDeviceExchange(options: DeviceExchangeOptions, issueLogin: IssueLogin): IssueToken {
  const { deviceCodes, registry } = options

  return async (request) => {
    const { api, client, values } = request
    const text = values.get('device_code')
    if (text === undefined) return refuse('invalid_request', 'device_code is missing.')
    if (!mayUseDevices(client)) return refuse('unauthorized_client', 'The client may not sign people in on devices.')
    const poll = await deviceCodes.poll(text, client.clientId, api)
    if (poll.state !== 'allowed') return refused(poll.state)
    const { id, login } = poll
    const issued = await issueLogin(request, login, async (_, writes) => {
      // Taken first, so that of two concurrent requests one gets tokens.
      if (!(await deviceCodes.take(id))) return false
      const author = { tenant: login.tenant, consumer: 'system', person: login.person.id }
      await registry.commit(author, 'refresh_grant.create', writes)
      return true
    })
    return issued ?? refused('unknown')
  }
}

function refused(state: keyof typeof REFUSALS): OauthAnswer {
  const [error, description] = REFUSALS[state]
  return refuse(error, description)
}
