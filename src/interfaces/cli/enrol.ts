/** Creates a consumer with a subscription and its credentials through the public API. */

import { fetchToken, type Credential, type PlatformClient } from './platform-client.ts'

export interface Access {
  readonly token: string
  readonly apiKey: string
  /** The OAuth client of the subscription. */
  readonly clientId: string
}

export interface Enrolment extends Access {
  readonly consumer: string
  readonly name: string
  readonly subscription: string
}

export interface EnrolOptions {
  readonly platform: PlatformClient
  readonly gatewayUrl: string
  readonly api: string
  readonly name: string
  readonly kind: 'application' | 'agent'
  readonly scopes?: readonly string[]
}

export async function enrol({ platform, gatewayUrl, api, name, kind, scopes }: EnrolOptions): Promise<Enrolment> {
  const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name, kind })
  const subscription = await platform.post<{ id: string; state: string }>('/v1/subscriptions', {
    consumer,
    api,
    ...(scopes && { scopes }),
  })
  if (subscription.state !== 'Active') throw new Error(`the subscription of ${name} is ${subscription.state}`)
  const access = await readAccess({ platform, gatewayUrl, api, subscription: subscription.id })
  return { consumer, name, subscription: subscription.id, ...access }
}

export interface AccessOptions extends Pick<EnrolOptions, 'platform' | 'gatewayUrl' | 'api'> {
  readonly subscription: string
}

/** Returns the API key of a subscription, and a new token. */
export async function readAccess({ platform, gatewayUrl, api, subscription }: AccessOptions): Promise<Access> {
  const { items } = await platform.get<{ items: readonly Credential[] }>(
    `/v1/subscriptions/${subscription}/credentials`,
  )
  const valid = items.filter(({ state }) => state === 'Active' || state === 'Expiring')
  const client = valid.find(({ type }) => type === 'OAuth2')
  const key = valid.find(({ type }) => type === 'ApiKey')
  if (client === undefined || key === undefined)
    throw new Error(`the subscription ${subscription} has no valid client id and API key`)

  const { clientId, clientSecret } = client
  const { accessToken } = await fetchToken({ gatewayUrl, api, clientId, clientSecret })
  return { token: accessToken, apiKey: key.apiKey, clientId }
}
