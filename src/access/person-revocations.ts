/**
 * Tokens that were issued for a person and that no longer count, because the person was disabled, removed or given other rights.
 *
 * A revocation refuses every token of the person up to a mark: an id that is created after the change was stored. It is stored until
 * the last of these tokens has expired, and has reached every gateway thread before the command returns. The number is bounded by
 * the people who are changed within the lifetime of a token. A change that nobody repeats after a crash commits a due revocation with
 * itself, which the next start carries out.
 */

import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import { documentKind, isOfKind, RevisionConflict, type Change, type Registry, type Write } from '../store/registry.ts'
import type { GatewayPort, RevokedPerson } from '../plan/gateway-port.ts'
import { commit } from '../command/commands.ts'
import { listAll } from '../command/page.ts'

export interface PersonRevocations {
  /** Resolves when every thread refuses the tokens that were issued so far, and the streams of these people have ended. */
  revoke(tenant: string, people: readonly string[], due?: DueRevocation): Promise<void>
  /** Returns a revocation whose `write` belongs into the commit of the change, and which `revoke` completes. */
  createDue(tenant: string, people: readonly string[]): DueRevocation
  isRevoked(person: string, jti: string): boolean
  /** Returns the mark of the latest revocation; `''` if there is none. It changes with every revocation. */
  markOf(person: string): string
  /** Returns the revocations whose tokens have not all expired, for new threads. */
  live(): readonly RevokedPerson[]
  /** Applies a change of the stored revocations that another node has made. Resolves as `revoke` does. */
  follow(change: Change): Promise<void>
  /** Calls `listener` after each revocation, before it resolves. */
  watch(listener: (person: string) => void): void
}

/** A revocation of at most 500 people that has to follow a change. */
export interface DueRevocation {
  readonly write: Write
}

export interface PersonRevocationsOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'revokePeople'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly createId: CreateId
  readonly tokenLifetimeMs: number
}

interface RevokedPersonBody {
  readonly before: string
  readonly untilMs: number
}

interface DueBody {
  readonly people: readonly string[]
}

interface Revocation extends RevokedPerson {
  readonly tenant: string
  readonly revision: number
}

export const REVOKED_PERSON_KIND = documentKind<RevokedPersonBody>('revoked_person', 'hidden')
const DUE_REVOCATION_KIND = documentKind<DueBody>('due_revocation', 'hidden')
const BATCH_MAX = 500
/** Expired revocations deleted with each new one: more than one, so that they do not accumulate. */
const DELETED_PER_REVOCATION = 2

export async function openPersonRevocations(options: PersonRevocationsOptions): Promise<PersonRevocations> {
  const { registry, gateway, clock, createId, tokenLifetimeMs } = options
  /** In the order of their expiry. */
  const revocations = new Map<string, Revocation>()
  const listeners: ((person: string) => void)[] = []
  for (const revocation of await storedRevocations(registry)) revocations.set(revocation.person, revocation)

  async function revokeBatch(tenant: string, people: readonly string[], done: readonly Write[]): Promise<void> {
    const body: RevokedPersonBody = { before: createId('tok'), untilMs: clock.nowMs() + tokenLifetimeMs }
    const writes = people.map((id) => toWrite(tenant, id, revocations.get(id)?.revision ?? 0, body))
    await commit(registry, { tenant, consumer: 'system' }, 'person.revoke', [...writes, ...done])
    for (const person of people) {
      const revision = (revocations.get(person)?.revision ?? 0) + 1
      revocations.delete(person)
      revocations.set(person, { person, tenant, revision, ...body })
    }
    await gateway.revokePeople(people.map((person) => ({ person, ...body })))
    for (const person of people) for (const listener of listeners) listener(person)
  }

  let last: Promise<unknown> = Promise.resolve()
  /** Runs one batch at a time, because each sets the revisions of its documents. */
  function enqueue(work: () => Promise<void>): Promise<void> {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }

  async function revoke(tenant: string, people: readonly string[], due?: DueRevocation): Promise<void> {
    const done = due === undefined ? [] : [{ ...due.write, expected: 1, body: null }]
    for (let from = 0; from < people.length; from += BATCH_MAX) {
      await enqueue(() => revokeBatch(tenant, people.slice(from, from + BATCH_MAX), done))
    }
    await enqueue(() => deleteExpired(registry, revocations, clock.nowMs(), people.length * DELETED_PER_REVOCATION))
  }

  for await (const { id, tenant, body } of listAll(registry, DUE_REVOCATION_KIND)) {
    await revoke(tenant, body.people, { write: { kind: DUE_REVOCATION_KIND, id, tenant, expected: 0, body } })
  }

  return {
    revoke,
    createDue(tenant, people) {
      return { write: { kind: DUE_REVOCATION_KIND, id: createId('rev'), tenant, expected: 0, body: { people } } }
    },
    isRevoked: (person, jti) => jti <= (revocations.get(person)?.before ?? ''),
    markOf: (person) => revocations.get(person)?.before ?? '',
    live: () => liveOf(revocations, clock.nowMs()),
    follow: (change) =>
      enqueue(async () => {
        const followed = noteChange(revocations, change)
        if (followed === null) return
        await gateway.revokePeople([followed])
        for (const listener of listeners) listener(followed.person)
      }),
    watch: (listener) => void listeners.push(listener),
  }
}

/** Notes a change of a stored revocation. Returns the revocation if it is a new one. */
function noteChange(revocations: Map<string, Revocation>, { document, removed }: Change): RevokedPerson | null {
  if (!isOfKind(document, REVOKED_PERSON_KIND)) return null
  const { id: person, tenant, revision, body } = document
  const known = revocations.get(person)?.revision ?? 0
  if (removed ? known <= revision : known < revision) revocations.delete(person)
  if (removed || known >= revision) return null
  revocations.set(person, { person, tenant, revision, ...body })
  return { person, ...body }
}

/** Returns the revocations that may still matter, as the threads know them. */
function liveOf(revocations: ReadonlyMap<string, Revocation>, nowMs: number): readonly RevokedPerson[] {
  return [...revocations.values()]
    .filter(({ untilMs }) => untilMs > nowMs)
    .map(({ person, before, untilMs }) => ({ person, before, untilMs }))
}

/** Returns the stored revocations in the order of their expiry. */
async function storedRevocations(registry: Registry): Promise<readonly Revocation[]> {
  const stored: Revocation[] = []
  for await (const { id, tenant, revision, body } of listAll(registry, REVOKED_PERSON_KIND)) {
    stored.push({ person: id, tenant, revision, ...body })
  }
  return stored.sort((a, b) => a.untilMs - b.untilMs)
}

function toWrite(tenant: string, id: string, expected: number, body: RevokedPersonBody | null): Write {
  return { kind: REVOKED_PERSON_KIND, id, tenant, expected, body }
}

/** Deletes the oldest revocations whose tokens have expired, up to a number. */
async function deleteExpired(
  registry: Registry,
  revocations: Map<string, Revocation>,
  nowMs: number,
  max: number,
): Promise<void> {
  const expired: Revocation[] = []
  for (const revocation of revocations.values()) {
    if (expired.length >= max || revocation.untilMs > nowMs) break
    expired.push(revocation)
  }
  if (expired.length === 0) return
  const writes = expired.map(({ tenant, person, revision }) => toWrite(tenant, person, revision, null))
  try {
    await registry.commit({ tenant: 'default', consumer: 'system' }, 'person.forget', writes)
    for (const { person } of expired) revocations.delete(person)
  } catch (cause) {
    if (!(cause instanceof RevisionConflict)) throw cause
  }
}
