/** The document of a client that registered itself, and what follows from it. */

import { DAY_MS } from '../../../foundation/domain/calendar.ts'
import type { RegisteredClientView } from '../../access/people/registered-clients.ts'
import { toTime } from '../../command/commands.ts'
import { documentKind, type Document } from '../../../storage/store/registry.ts'

export interface RegisteredClientBody {
  /** `''` if the client gave none. */
  readonly name: string
  /** The API at whose authorization server it registered. */
  readonly api: string
  readonly redirectUris: readonly string[]
  readonly registeredAtMs: number
  /** When a person last allowed it access, to the day; missing: never. */
  readonly lastUsedAtMs?: number
  /** Time of the task that checks whether it has expired. */
  readonly dueAtMs: number
}

export const REGISTERED_CLIENT_KIND = documentKind<RegisteredClientBody>('registered_client', [
  'name',
  'api',
  'redirectUris',
  'registeredAtMs',
  'lastUsedAtMs',
])
export const REGISTERED_CLIENT_DUE = 'registered_client_expiry'
/** Without use. */
export const LIFETIME_MS = 30 * DAY_MS

export function expiryOf({ registeredAtMs, lastUsedAtMs = registeredAtMs }: RegisteredClientBody): number {
  return lastUsedAtMs + LIFETIME_MS
}

/** A key of the registry, by which unused clients are found. */
export function keysOf({ lastUsedAtMs }: RegisteredClientBody): Readonly<Record<string, string>> {
  return { use: lastUsedAtMs === undefined ? 'none' : 'some' }
}

export function toView({ id, body }: Document<RegisteredClientBody>): RegisteredClientView {
  const { name, api, redirectUris, registeredAtMs, lastUsedAtMs } = body
  return {
    id,
    name,
    api,
    redirectUris,
    registeredAt: toTime(registeredAtMs),
    lastUsedAt: lastUsedAtMs === undefined ? null : toTime(lastUsedAtMs),
    expiresAt: toTime(expiryOf(body)),
  }
}
