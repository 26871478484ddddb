/** Stores a hostile value in every field of the platform API that takes one, and keeps account of the fields. */

import { fetchToken } from '../../../src/interfaces/cli/platform-client.ts'
import { ALL_OPERATIONS } from '../../../src/interfaces/platform/operations.ts'
import type { Service } from '../service.ts'
import { hostileBody, hostileFieldsOf } from './fields.ts'

type Values = Readonly<Record<string, unknown>>

export interface Filler {
  /** The fields in which the service has accepted a hostile value. */
  readonly filled: ReadonlySet<string>
  /** Calls the operation with a hostile value in each open field that `given` does not have; throws if it is refused. */
  send(operation: string, path: Values, given?: Values): Promise<Record<string, string>>
  /** Keeps account of a body that the service has accepted from elsewhere. */
  note(operation: string, body: unknown): void
  read<Answer>(path: string): Promise<Answer>
}

export function createFiller({ baseUrl }: Service, token: string): Filler {
  const filled = new Set<string>()
  const note: Filler['note'] = (operation, body) => {
    for (const each of hostileFieldsOf(operation, body)) filled.add(each)
  }
  const authorization = `Bearer ${token}`
  return {
    filled,
    note,
    async send(operation, path, given = {}) {
      const { method, path: template } = ALL_OPERATIONS[operation]!
      const url =
        baseUrl + template.replace(/:(\w+)/g, (_: string, name: string) => encodeURIComponent(String(path[name])))
      const body = hostileBody(operation, given)
      const isEmpty = body === undefined
      const headers = { authorization, ...(!isEmpty && { 'content-type': 'application/json' }) }
      const response = await fetch(url, { method, headers, ...(!isEmpty && { body: JSON.stringify(body) }) })
      const text = await response.text()
      if (!response.ok) throw new Error(`${operation} answered ${response.status}: ${text.slice(0, 800)}`)
      note(operation, body)
      return (text === '' ? {} : JSON.parse(text)) as Record<string, string>
    },
    async read<Answer>(path: string) {
      return (await (await fetch(baseUrl + path, { headers: { authorization } })).json()) as Answer
    },
  }
}

export function adminToken({ gatewayUrl }: Service): Promise<string> {
  const clientId = 'journey-admin'
  const clientSecret = 'journey-admin-secret-0123456789'
  return fetchToken({ gatewayUrl, api: 'platform-v1', clientId, clientSecret }).then((each) => each.accessToken)
}
