/** Creates a consumer with a subscription and its credentials through the public API. */

import { fetchToken, type Credential, type PlatformClient } from './platform-client.ts'

export interface Enrolment {
  readonly consumer: string
  readonly name: string
  readonly subscription: string
  readonly token: string
  readonly apiKey: string
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

  const { items } = await platform.get<{ items: readonly Credential[] }>(
    `/v1/subscriptions/${subscription.id}/credentials`,
  )
  const client = items.find(({ type }) => type === 'OAuth2')
  const key = items.find(({ type }) => type === 'ApiKey')
  if (client === undefined || key === undefined) throw new Error(`${name} got no client id and API key`)

  const { clientId, clientSecret } = client
  const { accessToken } = await fetchToken({ gatewayUrl, api, clientId, clientSecret })
  return { consumer, name, subscription: subscription.id, token: accessToken, apiKey: key.apiKey }
}
