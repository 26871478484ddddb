/**
 * Reads, names, revokes and rotates the credentials of a subscription.
 *
 * A revocation has reached every gateway thread before the command returns. A platform credential cannot be used to
 * escalate privileges: it reads and rotates the credentials of a subscription to the platform API only if it holds all scopes of that subscription.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Labels } from '../../storage/store/labels.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { policyOfSubscribed } from '../publishing/api-policy.ts'
import { commit, find, invalidAt } from '../command/commands.ts'
import { announceCredential, announceSubscription } from './announced-grants.ts'
import {
  CREDENTIAL_KIND,
  credentialWrite,
  newCredentialWrite,
  showCredential,
  type Credential,
  type CredentialBody,
  type Secrets,
} from './credential-document.ts'
import { firstWarningWrite } from './credential-expiry.ts'
import { eventWrite } from '../command/event-outbox.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { Page } from '../command/page.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { includesScope } from '../../foundation/domain/scope-width.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'
import type { HeldScopes } from './held-scopes.ts'
import type { LastUses } from './last-uses.ts'
import { keepAdmin, usableCredentials } from './last-admin.ts'

/** The new credential that has a client id, or the first new one if none has; all new credentials are in `items`. */
export interface RotatedCredentials extends Credential {
  readonly items: readonly Credential[]
}

export interface Rotation {
  /** How long the old credentials remain valid. */
  readonly overlapSeconds?: number | undefined
  /** The client certificate of the new credentials; null: none; default: that of the credential that each of them replaces. */
  readonly certificateThumbprint?: string | null | undefined
}

export interface CredentialChange {
  /** Null removes it. */
  readonly name?: string | null | undefined
  readonly labels?: Labels | undefined
}

/** The rights of a caller that reads credentials. */
export interface CredentialReader {
  readonly held: HeldScopes
  /** Whether it may see secrets. */
  readonly isRevealed: boolean
}

export interface Credentials {
  /** Lists the credentials, with their secrets if `isRevealed`, and writes an audit entry. */
  read(author: Author, subscription: string, reader?: CredentialReader): Promise<Page<Credential>>
  /** Changes the name and the labels; returns the credential without its secrets. */
  update(author: Author, subscription: string, credential: string, change: CredentialChange): Promise<Credential>
  revoke(author: Author, subscription: string, credential: string): Promise<void>
  /** Replaces each active credential that is not federated and not yet replaced; the old ones expire after the overlap at the latest. */
  rotate(
    author: Author,
    subscription: string,
    rotation?: Rotation,
    reader?: CredentialReader,
  ): Promise<RotatedCredentials>
  of(tenant: string, subscription: string): Promise<readonly Document<CredentialBody>[]>
  /** Sends the current grants of a subscription to every gateway thread; resolves when all have them. */
  announce(subscription: string): Promise<void>
}

export interface CredentialsOptions extends Secrets {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'applyGrants'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly lastUses: Pick<LastUses, 'read'>
}

/** Adds the secrets to the credentials of other consumers. */
export const REVEAL_SCOPE = 'credentials:reveal'
/** The service itself. */
const SERVICE: CredentialReader = { held: null, isRevealed: true }
const OVERLAP_SECONDS = 86_400
/** Upper bound of the credentials of a subscription. */
export const CREDENTIALS_MAX = 500

export function createCredentials(options: CredentialsOptions): Credentials {
  const { registry, createId } = options

  return {
    of: (tenant, subscription) => listCredentials(options, tenant, subscription),
    announce: (subscription) => announceSubscription(options, subscription),
    rotate: (author, id, rotation, reader) => rotate(options, author, id, rotation, reader),
    async read(author, id, { held, isRevealed } = SERVICE) {
      const current = await find(registry, author.tenant, SUBSCRIPTION_KIND, id)
      if (isRevealed) checkHeld(current.body, held)
      const credentials = await listCredentials(options, current.tenant, id)
      await registry.audit(author, isRevealed ? 'credentials.read' : 'credentials.list', {
        kind: SUBSCRIPTION_KIND,
        id,
        tenant: current.tenant,
      })
      const usedMs = await options.lastUses.read(credentials.map((each) => each.id))
      return { items: credentials.map((each) => show(options, each, { isRevealed, usedMs })), next: null }
    },
    async update(author, subscription, id, change) {
      const current = await findOf(registry, author, subscription, id)
      const usedMs = await options.lastUses.read([id])
      const { name = current.body.name, labels = current.body.labels } = change
      const { name: _, ...unnamed } = current.body
      const body: CredentialBody = {
        ...unnamed,
        ...(name !== undefined && name !== null && { name }),
        ...(labels !== undefined && { labels }),
      }
      await commit(registry, author, 'credential.update', [credentialWrite(id, current.tenant, current.revision, body)])
      return show(options, { ...current, body }, { isRevealed: false, usedMs })
    },
    async revoke(author, id, credential) {
      const subscription = await find(registry, author.tenant, SUBSCRIPTION_KIND, id)
      const current = await findOf(registry, author, id, credential)
      const { tenant } = author
      const { type, clientId, state } = current.body
      const body = { ...current.body, state: 'Revoked' } as const
      const data = { credential, subscription: id, type, clientId: clientId || null }
      await commit(registry, author, 'credential.revoke', [
        credentialWrite(credential, tenant, current.revision, body),
        // A repeated revocation reaches the threads again, but emits no second event.
        ...(state === 'Revoked' ? [] : [eventWrite(createId, tenant, 'CredentialRevoked', data)]),
        ...(await keepOtherAdmin(options, subscription, credential)),
      ])
      await announceCredential(options, credential)
    },
  }
}

/** Its other credentials are as good as another client. */
async function keepOtherAdmin(
  options: CredentialsOptions,
  subscription: Document<SubscriptionBody>,
  revoked: string,
): Promise<readonly Write[]> {
  const usable = await usableCredentials(options, subscription)
  const isLast = usable.length === 1 && usable[0]!.id === revoked
  return isLast ? keepAdmin(options, subscription.tenant, [subscription]) : []
}

function listCredentials(
  { registry }: CredentialsOptions,
  tenant: string,
  subscription: string,
): Promise<readonly Document<CredentialBody>[]> {
  return registry.list(CREDENTIAL_KIND, { tenant, where: { subscription }, limit: CREDENTIALS_MAX })
}

async function findOf(
  registry: Registry,
  { tenant }: Author,
  subscription: string,
  credential: string,
): Promise<Document<CredentialBody>> {
  const found = await find(registry, tenant, CREDENTIAL_KIND, credential)
  if (found.body.subscription !== subscription)
    throw new Problem('not_found', 'The subscription has no such credential.')
  return found
}

function show(
  { vault, clock }: CredentialsOptions,
  document: Document<CredentialBody>,
  { isRevealed, usedMs }: { readonly isRevealed: boolean; readonly usedMs: ReadonlyMap<string, number> },
): Credential {
  const shown = showCredential(document, { vault, nowMs: clock.nowMs(), lastUsedMs: usedMs.get(document.id) })
  return isRevealed ? shown : { ...shown, clientSecret: null, apiKey: null }
}

async function rotate(
  options: CredentialsOptions,
  author: Author,
  id: string,
  { overlapSeconds = OVERLAP_SECONDS, certificateThumbprint }: Rotation = {},
  { held, isRevealed }: CredentialReader = SERVICE,
): Promise<RotatedCredentials> {
  const { registry, clock } = options
  const { tenant } = author
  const subscription = await find(registry, tenant, SUBSCRIPTION_KIND, id)
  checkHeld(subscription.body, held)
  checkBinding(subscription.body, certificateThumbprint)
  const nowMs = clock.nowMs()
  const all = await listCredentials(options, tenant, id)
  const old = all.filter(
    ({ body }) => body.type !== 'Federated' && body.state === 'Active' && body.expiresAtMs > nowMs && !isReplaced(body),
  )
  if (old.length === 0 || subscription.body.actor.status === 'done') {
    const extensions = { state: String(subscription.body.actor.value), allowed: [] }
    throw new Problem('state_conflict', 'The subscription has no credential that can be rotated.', { extensions })
  }
  if (all.length + old.length > CREDENTIALS_MAX) {
    throw new Problem(
      'state_conflict',
      'The rotation would exceed the limit of 500 credentials of the subscription; create another subscription.',
      { extensions: { state: 'full', allowed: [] } },
    )
  }
  const { credentialLifetimeDays } = await policyOfSubscribed(registry, subscription.body)
  const expiresAtMs = nowMs + credentialLifetimeDays * DAY_MS
  const made = old.map(({ body: { type, scopes, apiProductId, certificateThumbprint: bound = null, name, labels } }) =>
    newCredentialWrite(options, {
      ...{ tenant, subscription: id, type, scopes, apiProductId, expiresAtMs },
      named: { ...(name !== undefined && { name }), ...(labels !== undefined && { labels }) },
      certificateThumbprint: certificateThumbprint === undefined ? bound : certificateThumbprint,
    }),
  )
  const ending = old.map(({ id: credential, revision, body }) => {
    const endsMs = Math.min(body.expiresAtMs, nowMs + overlapSeconds * 1_000)
    return credentialWrite(credential, tenant, revision, { ...body, expiresAtMs: endsMs, isReplaced: true })
  })
  const warnings = made.map((write) => firstWarningWrite(write.id, tenant, expiresAtMs, nowMs))
  await commit(registry, author, 'credential.rotate', [...ending, ...made, ...warnings])
  await announceSubscription(options, id)
  const ids = new Set(made.map((write) => write.id))
  const created = (await listCredentials(options, tenant, id)).filter((each) => ids.has(each.id))
  const items = created.map((each) => show(options, each, { isRevealed, usedMs: new Map() }))
  const client = items.find(({ clientId }) => clientId !== null) ?? items[0]
  if (client === undefined) throw new Error(`the new credentials of ${id} are gone`)
  return { ...client, items }
}

function checkHeld({ api, scopes }: SubscriptionBody, held: HeldScopes): void {
  if (held === null || api !== PLATFORM_API || scopes.every((scope) => includesScope(held, scope))) return
  throw new Problem(
    'operation_forbidden',
    'These credentials have platform scopes that your own credential does not have.',
  )
}

/** The port of the platform API asks for no client certificates. */
export function checkBinding({ api }: Pick<SubscriptionBody, 'api'>, thumbprint: string | null | undefined): void {
  if (api !== PLATFORM_API || thumbprint === undefined || thumbprint === null) return
  const detail = 'Credentials for the platform API cannot be bound to a client certificate.'
  throw invalidAt('/certificateThumbprint', detail)
}

function isReplaced(body: CredentialBody): boolean {
  return body.isReplaced === true
}
