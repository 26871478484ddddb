/**
 * Clients that registered themselves (RFC 7591). Each belongs to the tenant of the API at which it registered, has no secret
 * and no subscription, and expires 30 days after a person last allowed it access.
 *
 * A tenant has a bounded number of them. When it is reached, the oldest unused one gives way, but not within
 * a day, so that strangers cannot remove clients whose people are about to sign in.
 *
 * A removal ends the sign-ins with the client: its codes and the tokens that they gave, before the client is removed, so that
 * a removal that was interrupted can be repeated, and once more after it, for what began meanwhile.
 */

import { DAY_MS } from '../../../foundation/domain/calendar.ts'
import { isDisabled } from '../../access/platform-access.ts'
import type { RegisteredClients } from '../../access/people/registered-clients.ts'
import { addDueWrite, dropDueWrite, dueWrite, type DueTime } from '../../command/due-times.ts'
import { commit, find } from '../../command/commands.ts'
import type { KeyedMutex } from '../../command/keyed-mutex.ts'
import { listAll, listPage } from '../../command/page.ts'
import { toSharedClientGrant } from '../../../boundary/plan/grant.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { isId, type CreateId } from '../../../foundation/runtime/ids.ts'
import {
  RevisionConflict,
  type Author,
  type Document,
  type Registry,
  type Write,
} from '../../../storage/store/registry.ts'
import type { EndCodes } from '../client-codes.ts'
import type { RegisteredClient } from '../client-authentication.ts'
import {
  expiryOf,
  keysOf,
  LIFETIME_MS,
  REGISTERED_CLIENT_DUE,
  REGISTERED_CLIENT_KIND,
  toView,
  type RegisteredClientBody,
} from './registered-client-document.ts'
import type { ClientRegistration } from './registration-request.ts'

export interface SelfRegisteredClients extends RegisteredClients {
  /** Returns null if the tenant has too many clients. */
  create(tenant: string, api: string, registration: ClientRegistration): Promise<NewRegisteredClient | null>
  /** Returns null if there is no such client, or registration is off. */
  clientFor(clientId: string): Promise<RegisteredClient | null>
  /** Notes that a person has allowed the client access. */
  touch(clientId: string): Promise<void>
  /** Removes a client that has expired. */
  expire(due: DueTime): Promise<void>
}

export interface NewRegisteredClient {
  readonly id: string
  readonly registeredAtMs: number
}

export interface SelfRegisteredClientsOptions {
  readonly registry: Registry
  readonly mutex: KeyedMutex
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
  /** Whether clients may register, and those that did may sign people in. */
  readonly isAllowed: boolean
  /** Ends the codes of a client, and the tokens that they gave. */
  readonly endCodes: EndCodes
}

export const CLIENTS_MAX = 1_000
const PREFIX = 'rcl'
const ATTEMPTS_MAX = 10
/** The name is followed by text that it cannot contain, so that it cannot pass for a client whose name was checked. */
const UNVERIFIED = '(registered itself)'

export function createSelfRegisteredClients(options: SelfRegisteredClientsOptions): SelfRegisteredClients {
  const { registry, mutex, createId, clock, isAllowed } = options

  return {
    create: (tenant, api, registration) =>
      mutex.runExclusive([`registered clients ${tenant}`], async () => {
        if (!(await makeRoom(options, tenant))) return null
        const [id, registeredAtMs] = [createId(PREFIX), clock.nowMs()]
        const dueAtMs = registeredAtMs + LIFETIME_MS
        const body: RegisteredClientBody = { ...registration, api, registeredAtMs, dueAtMs }
        await commit(registry, systemOf(tenant), 'registered_client.create', [
          toWrite({ id, tenant, revision: 0 }, body),
          dueWrite({ tenant, kind: REGISTERED_CLIENT_DUE, subject: id, atMs: dueAtMs }),
        ])
        return { id, registeredAtMs }
      }),
    async clientFor(clientId) {
      const document = await findClient(options, clientId)
      if (!isAllowed || document === null || expiryOf(document.body) <= clock.nowMs()) return null
      const { tenant, body } = document
      if (await isDisabled(registry, tenant)) return null
      const { name, api, redirectUris } = body
      const grant = { ...toSharedClientGrant(tenant, `${name || 'An app'} ${UNVERIFIED}`), api }
      return { grant, secretHash: '', redirectUris, mayRefresh: false, isSelfRegistered: true }
    },
    touch: (clientId) => touch(options, clientId),
    expire: (due) => expire(options, due),
    list: (tenant, query) => listPage({ registry, kind: REGISTERED_CLIENT_KIND, tenant, query, show: toView }),
    async remove(author, id) {
      const document = await find(registry, author.tenant, REGISTERED_CLIENT_KIND, id)
      await remove(options, author, 'registered_client.remove', document)
    },
  }
}

async function findClient(
  { registry }: SelfRegisteredClientsOptions,
  clientId: string,
): Promise<Document<RegisteredClientBody> | null> {
  return isId(PREFIX, clientId) ? registry.get(REGISTERED_CLIENT_KIND, clientId) : null
}

/** Returns false if there is no room for one more client. */
async function makeRoom(options: SelfRegisteredClientsOptions, tenant: string): Promise<boolean> {
  const { registry, clock } = options
  let number = 0
  for await (const _ of listAll(registry, REGISTERED_CLIENT_KIND, { tenant })) number++
  if (number < CLIENTS_MAX) return true
  // Ids sort by time, so that the first is the oldest.
  const [oldest] = await registry.list(REGISTERED_CLIENT_KIND, { tenant, where: { use: 'none' }, limit: 1 })
  if (oldest === undefined || oldest.body.registeredAtMs + DAY_MS > clock.nowMs()) return false
  await remove(options, systemOf(tenant), 'registered_client.replace', oldest)
  return true
}

async function touch(options: SelfRegisteredClientsOptions, clientId: string): Promise<void> {
  const { registry, clock } = options
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const document = await findClient(options, clientId)
    const nowMs = clock.nowMs()
    if (document === null || (document.body.lastUsedAtMs ?? 0) + DAY_MS > nowMs) return
    const next = { ...document.body, lastUsedAtMs: nowMs }
    const write = toWrite(document, next)
    if (await tryCommit(registry, document.tenant, 'registered_client.use', [write])) return
  }
}

/** The task of a client that was used since is scheduled anew. */
async function expire(options: SelfRegisteredClientsOptions, { subject, atMs }: DueTime): Promise<void> {
  const { registry, clock } = options
  const document = await findClient(options, subject)
  if (document === null) return
  const { tenant, body } = document
  const dueAtMs = expiryOf(body)
  if (dueAtMs <= clock.nowMs()) return remove(options, systemOf(tenant), 'registered_client.expire', document)
  if (body.dueAtMs !== atMs) return
  const due = { tenant, kind: REGISTERED_CLIENT_DUE, subject, atMs: dueAtMs }
  const writes = [toWrite(document, { ...body, dueAtMs }), ...(await addDueWrite(registry, due))]
  await registry.commit(systemOf(tenant), 'registered_client.keep', writes)
}

async function remove(
  { registry, endCodes }: SelfRegisteredClientsOptions,
  author: Author,
  action: string,
  document: Document<RegisteredClientBody>,
): Promise<void> {
  const { id, tenant, body } = document
  await endCodes(tenant, id)
  const due = await dropDueWrite(registry, REGISTERED_CLIENT_DUE, id, body.dueAtMs)
  await commit(registry, author, action, [toWrite(document, null), ...due])
  await endCodes(tenant, id)
}

function toWrite(
  { id, tenant, revision }: Pick<Document, 'id' | 'tenant' | 'revision'>,
  body: RegisteredClientBody | null,
): Write {
  const kept = body === null ? {} : { keys: keysOf(body) }
  return { kind: REGISTERED_CLIENT_KIND, id, tenant, expected: revision, body, ...kept }
}

async function tryCommit(
  registry: Registry,
  tenant: string,
  action: string,
  writes: readonly Write[],
): Promise<boolean> {
  try {
    await registry.commit(systemOf(tenant), action, writes)
    return true
  } catch (cause) {
    if (cause instanceof RevisionConflict) return false
    throw cause
  }
}

function systemOf(tenant: string): Author {
  return { tenant, consumer: 'system' }
}
