/** One-time links with which the owner of a tenant sets a password: at the first start, and when all access is lost. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Document, Registry, Write } from '../../storage/store/registry.ts'
import { listAll } from '../command/page.ts'
import type { Secrets } from './credential-document.ts'
import { OWNER } from './people/built-in-roles.ts'
import { createOneTimeLinks, INVITATION_MS, type Invitation, type NewLink } from './people/one-time-links.ts'
import { holdersOf, stateOf, USER_KIND, usernameKey, userWrite, type UserBody } from './people/user-document.ts'

export interface OwnerLinkOptions extends Secrets {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  readonly tenant: string
  readonly gatewayUrl: string
}

export interface OwnerLink {
  readonly owner: Write
  readonly username: string
  readonly ownerLink: Invitation
}

/** The owner who is easiest to restore comes first. */
const ORDER = ['Active', 'Pending', 'Disabled'] as const

/** Returns the first person, who has every right and invites the others. */
export function newOwner(options: OwnerLinkOptions, username = OWNER): OwnerLink {
  const id = options.createId('usr')
  const { stored, shown } = linkOf(options, id)
  const body: UserBody = { username, name: 'Owner', passwordHash: null, roles: [{ role: OWNER }], link: stored }
  return { owner: userWrite(id, options.tenant, 0, body), username, ownerLink: shown }
}

/** Returns a link for an owner of the tenant, who is enabled; a new owner if it has none. A password works until the link is used. */
export async function restoredOwner(options: OwnerLinkOptions): Promise<OwnerLink> {
  const { registry, tenant, createId } = options
  const owners: Document<UserBody>[] = []
  for await (const owner of listAll(registry, USER_KIND, { tenant, where: holdersOf(OWNER) })) owners.push(owner)
  const [found] = ORDER.flatMap((state) => owners.filter(({ body }) => stateOf(body) === state))
  if (found === undefined) {
    const isTaken = (await registry.find(USER_KIND, 'username', usernameKey(tenant, OWNER))) !== null
    return newOwner(options, isTaken ? `${OWNER}-${createId('usr').slice(-5)}` : OWNER)
  }
  const { id, revision, body } = found
  const { stored, shown } = linkOf(options, id)
  const owner = userWrite(id, tenant, revision, { ...body, disabled: false, link: stored })
  return { owner, username: body.username, ownerLink: shown }
}

function linkOf(options: OwnerLinkOptions, user: string): NewLink {
  const { vault, clock } = options
  return createOneTimeLinks({ ...options, keyedHash: vault.keyedHash, nowMs: clock.nowMs }).create(user, INVITATION_MS)
}
