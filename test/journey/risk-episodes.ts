/** Consumers that misuse an API of a service, and the risk episodes that this opens. */

import { request } from 'undici'
import { expect } from 'vitest'
import { enrol, type Enrolled, type Service } from './service.ts'

export const MARKUP = '<img src=x onerror="document.title=1">'
export const HOSTILE = `${MARKUP}\u202eevil`
const WAIT = { timeout: 20_000, interval: 100 }

/** Returns the status. */
export async function call({ gatewayUrl }: Service, { apiKey }: Enrolled, path = 'entries?n=1'): Promise<number> {
  const headers = { 'x-api-key': apiKey, 'user-agent': MARKUP }
  const { statusCode, body } = await request(`${gatewayUrl}/ledger-v1/${path}`, { headers })
  await body.dump()
  return statusCode
}

/** Requests a path that the contract does not have. */
export async function misuse(service: Service, caller: Enrolled): Promise<void> {
  expect(await call(service, caller, encodeURIComponent(MARKUP))).toBe(404)
}

export interface Caller extends Enrolled {
  readonly riskId: string
}

/** Enrols a consumer that misuses the API. */
export async function openEpisode(service: Service, name: string): Promise<Caller> {
  const caller = await enrol(service, 'ledger-v1', { name })
  await misuse(service, caller)
  const idsOf = async () => (await risksOf(service, caller)).map(({ riskId }) => riskId)
  await expect.poll(idsOf, WAIT).toHaveLength(1)
  const [riskId = ''] = await idsOf()
  return { ...caller, riskId }
}

interface Risk {
  readonly riskId: string
  readonly mute: { readonly reason: string } | null
}

export async function risksOf({ platform }: Service, { consumer }: Enrolled): Promise<readonly Risk[]> {
  return (await platform.get<{ items: Risk[] }>(`/v1/risks?attributedTo=${consumer}`)).items
}
