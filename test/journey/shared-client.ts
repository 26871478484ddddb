/** People of a service who sign in through clients without a subscription of their own. */

import { request } from 'undici'
import { expect } from 'vitest'
import { setPassword, type LoginOptions } from './person.ts'
import type { Service } from './service.ts'

export const PASSWORD = 'nanoseconds are eleven inches'
export const CLIENT = 'tollgate-cli.default'
export const LOOPBACK = 'http://127.0.0.1:50123/callback'

export interface Role {
  readonly role: string
  readonly consumers?: readonly string[]
}

let people = 0

/** Invites a person, who sets a password. Returns how the person signs in at `ledger-v1` through the command line tool. */
export async function invite(
  { platform }: Service,
  ...roles: readonly Role[]
): Promise<LoginOptions & { readonly id: string }> {
  const username = `person-${++people}`
  const body = { username, name: 'Grace', roles }
  const { id, invitation } = await platform.post<{ id: string; invitation: { url: string } }>('/v1/users', body)
  expect(await setPassword(invitation.url, PASSWORD)).toBe(200)
  return { id, username, password: PASSWORD, clientId: CLIENT, api: 'ledger-v1', redirectUri: LOOPBACK }
}

export async function subscribe(
  { platform }: Service,
  consumer: string,
  to: object = { api: 'ledger-v1' },
): Promise<string> {
  return (await platform.post<{ id: string }>('/v1/subscriptions', { consumer, ...to })).id
}

export async function createConsumer({ platform }: Service): Promise<string> {
  return (await platform.post<{ id: string }>('/v1/consumers', { name: 'Shop', kind: 'application' })).id
}

export interface Answer {
  readonly status: number
  readonly code: string | undefined
}

export async function call(url: string, token: string): Promise<Answer> {
  const { statusCode, body } = await request(url, { headers: { authorization: `Bearer ${token}` } })
  const { code } = (await body.json()) as { code?: string }
  return { status: statusCode, code }
}

export function callLedger({ gatewayUrl }: Service, token: string): Promise<Answer> {
  return call(`${gatewayUrl}/ledger-v1/entries?n=1`, token)
}

export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

export function authorizeUrl(
  { gatewayUrl }: Service,
  clientId: string,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const url = new URL(`${gatewayUrl}/oauth2/v2/authorize`)
  const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
  const shared = { response_type: 'code', client_id: clientId, redirect_uri: LOOPBACK, ...challenge }
  url.search = new URLSearchParams({ ...shared, ...parameters }).toString()
  return url.href
}
