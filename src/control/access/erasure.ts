/**
 * Erases the names of removed consumers and people; ids and amounts stay.
 *
 * The request is a scheduled task in the same commit as the removal, so it survives a crash. The task replaces names by the id: in
 * usage, the request log and risks (consumers), and in the audit log (both). It runs again an hour later, and until it finds no name,
 * because calls that ended before the removal may be stored after the first run, and a risk keeps its name while it is open.
 */

import { commit, notFound } from '../command/commands.ts'
import { addDueWrite, DUE_KIND, type DueTime } from '../command/due-times.ts'
import { listAll } from '../command/page.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { NameStore } from '../../storage/store/name-store.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import {
  SUBSCRIPTION_KIND,
  subscriptionWrite,
  type SubscriptionBody,
} from '../subscriptions/document/subscription-document.ts'
import { CREDENTIAL_KIND, credentialWrite, type CredentialBody } from './credential-document.ts'
import { CONSUMER_KIND, type ConsumerBody } from './consumer-document.ts'
import { USER_KIND, type UserBody } from './people/user-document.ts'

export const CONSUMER_ERASURE = 'consumer_erasure'
export const USER_ERASURE = 'user_erasure'

const AGAIN_MS = 3_600_000
const KINDS = { [CONSUMER_ERASURE]: CONSUMER_KIND, [USER_ERASURE]: USER_KIND } as const
type ErasureKind = keyof typeof KINDS

export interface Removal {
  /** Erases the names that usage and the audit log keep. */
  readonly erase?: boolean
}

export interface ErasureOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
}

export interface ErasureTasksOptions extends ErasureOptions {
  /** Every store of names beside ids. */
  readonly names: readonly NameStore[]
}

export type ErasureTasks = Readonly<Record<ErasureKind, (due: DueTime) => Promise<void>>>

/** Returns the writes that request an erasure; none if it is requested already. */
export async function erasureWrites(
  { registry, clock }: ErasureOptions,
  kind: ErasureKind,
  tenant: string,
  id: string,
): Promise<readonly Write[]> {
  const requested = await registry.find(DUE_KIND, 'subject', id)
  if (requested?.body.kind === kind) return []
  const nowMs = clock.nowMs()
  const runs = [nowMs, nowMs + AGAIN_MS].map((atMs) => addDueWrite(registry, { tenant, kind, subject: id, atMs }))
  return (await Promise.all(runs)).flat()
}

/** Whether a document is a request to erase names. */
export function isErasure({ kind, body }: Document): boolean {
  return kind === DUE_KIND && Object.hasOwn(KINDS, (body as DueTime).kind)
}

/** Removes the contacts of requested erasures, before the subscriptions that lead to them are removed with the tenant. */
export async function eraseContacts(registry: Registry, tenant: string): Promise<void> {
  for await (const { body } of listAll(registry, DUE_KIND, { tenant })) {
    if (body.kind === CONSUMER_ERASURE) await removeContacts(registry, tenant, body.subject)
  }
}

/** Requests the erasure of what was removed earlier. Throws `Problem('not_found')` if the tenant never had it. */
export async function eraseRemoved(
  options: ErasureOptions,
  kind: ErasureKind,
  author: Author,
  id: string,
): Promise<void> {
  const { registry } = options
  const { tenant } = author
  const document = KINDS[kind]
  const known = await registry.history({ tenant, kind: document, id, bodiesOf: [], limit: 1 })
  if (known.length === 0) throw notFound(document, id)
  const writes = await erasureWrites(options, kind, tenant, id)
  if (writes.length > 0) await commit(registry, author, `${document}.erase`, writes)
}

export function createErasureTasks(options: ErasureTasksOptions): ErasureTasks {
  const { registry } = options
  return {
    async [CONSUMER_ERASURE]({ tenant, subject: id }) {
      let replaced = 0
      for (const store of options.names) replaced += await store.replaceConsumerName(tenant, id, id)
      await removeContacts(registry, tenant, id)
      await registry.redact({ kind: CONSUMER_KIND, id, tenant }, (body) => withoutConsumer(id, body))
      if (replaced === 0) return
      const again = { tenant, kind: CONSUMER_ERASURE, subject: id, atMs: options.clock.nowMs() + AGAIN_MS }
      await registry.commit({ tenant, consumer: 'system' }, 'consumer.erase', await addDueWrite(registry, again))
    },
    [USER_ERASURE]: ({ tenant, subject: id }) =>
      registry.redact({ kind: USER_KIND, id, tenant }, (body) => withoutPerson(id, body)),
  }
}

/** Removes the contacts from the subscriptions of a consumer and from their audit entries. */
async function removeContacts(registry: Registry, tenant: string, consumer: string): Promise<void> {
  for await (const { id, revision, body } of listAll(registry, SUBSCRIPTION_KIND, { tenant, where: { consumer } })) {
    if (body.contact !== undefined) {
      const write = subscriptionWrite(id, tenant, revision, withoutContact(body) as SubscriptionBody)
      await registry.commit({ tenant, consumer: 'system' }, 'consumer.erase', [write])
    }
    await registry.redact({ kind: SUBSCRIPTION_KIND, id, tenant }, withoutContact)
    await removeCredentialNames(registry, tenant, id)
  }
}

/** Removes the names and the labels of the credentials of a subscription, which people have written, and of their audit entries. */
async function removeCredentialNames(registry: Registry, tenant: string, subscription: string): Promise<void> {
  for await (const { id, revision, body } of listAll(registry, CREDENTIAL_KIND, { tenant, where: { subscription } })) {
    if (body.name !== undefined || body.labels !== undefined) {
      const write = credentialWrite(id, tenant, revision, withoutName(body) as CredentialBody)
      await registry.commit({ tenant, consumer: 'system' }, 'consumer.erase', [write])
    }
    await registry.redact({ kind: CREDENTIAL_KIND, id, tenant }, withoutName)
  }
}

function withoutName(body: unknown): unknown {
  if (body === null) return null
  const { name: _, labels: __, ...rest } = body as CredentialBody
  return rest
}

function withoutContact(body: unknown): unknown {
  if (body === null) return null
  const { contact: _, ...rest } = body as SubscriptionBody
  return rest
}

function withoutConsumer(id: string, body: unknown): ConsumerBody | null {
  if (body === null) return null
  const { kind, exposure, isDisabled } = body as ConsumerBody
  return { name: id, kind, ...(exposure !== undefined && { exposure }), ...(isDisabled === true && { isDisabled }) }
}

/** Names what stays, so that a later version's member is erased too. */
function withoutPerson(id: string, body: unknown): UserBody | null {
  if (body === null) return null
  const { roles, disabled } = body as UserBody
  return {
    username: id,
    name: id,
    passwordHash: null,
    ...(roles !== undefined && { roles }),
    ...(disabled !== undefined && { disabled }),
  }
}
