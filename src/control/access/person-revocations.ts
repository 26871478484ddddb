/**
 * Tokens that were issued for a person and that no longer count, because the person was disabled, removed or given other rights.
 *
 * A revocation has a random id. A token names the latest revocation of its person, which is read before the rights that it carries; a
 * token that names another one is refused. So neither clocks nor the order of ids matter. A revocation is stored until the last of the
 * tokens before it has expired, and has reached every gateway thread before the command returns. Their number is bounded by the people
 * who are changed within the lifetime of a token. A change that is not repeated after a crash commits a due revocation with itself,
 * which the next start carries out.
 */

import { CLOCK_MARGIN_MS, type Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import { RevisionConflict, type Change, type Registry } from '../../storage/store/registry.ts'
import { covers, type GatewayPort, type RevokedPerson } from '../../boundary/plan/gateway-port.ts'
import { listAll } from '../command/page.ts'
import {
  commitRevocations,
  DUE_REVOCATION_KIND,
  REVOKED_PERSON_KIND,
  toRevocation,
  toWrite,
  type DueRevocation,
  type Revocation,
} from './revocation-documents.ts'

export interface PersonRevocations {
  /** Resolves when every thread refuses the tokens that were issued so far, and the streams of these people have ended. */
  revoke(tenant: string, people: readonly string[], due?: DueRevocation): Promise<void>
  /** Returns a revocation whose `write` belongs into the commit of the change, and which `revoke` completes. */
  createDue(tenant: string, people: readonly string[]): DueRevocation
  /** Whether a token is revoked. `named`: the revocation that it names. */
  isRevoked(person: string, jti: string, named: string | undefined): boolean
  /** Reads the id of the latest revocation; `''` if there is none. It changes with every revocation, on any node. */
  latestOf(person: string): Promise<string>
  /** Returns the same as far as this process has received it. */
  markOf(person: string): string
  /** Returns the revocations whose tokens have not all expired, for new threads. */
  live(): readonly RevokedPerson[]
  /** Applies a change of the stored revocations that another node has made. Resolves as `revoke` does. */
  follow(change: Change): Promise<void>
  /** Calls `listener` after each revocation, before it resolves. */
  watch(listener: (person: string) => void): void
}

export interface PersonRevocationsOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'revokePeople'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly createId: CreateId
  readonly tokenLifetimeMs: number
}

interface Known extends Revocation {
  /** The threads refuse the tokens. */
  readonly isApplied: boolean
}

const BATCH_MAX = 500
/** Expired revocations deleted with each new one: more than one, so that they do not accumulate. */
const DELETED_PER_REVOCATION = 2

export async function openPersonRevocations(options: PersonRevocationsOptions): Promise<PersonRevocations> {
  const revocations = new Revocations(options)
  await revocations.load()
  const { registry, createId, clock } = options
  for await (const { id, tenant, body } of listAll(registry, DUE_REVOCATION_KIND)) {
    await revocations.revoke(tenant, body.people, {
      write: { kind: DUE_REVOCATION_KIND, id, tenant, expected: 0, body },
    })
  }
  return {
    revoke: (tenant, people, due) => revocations.revoke(tenant, people, due),
    createDue(tenant, people) {
      return { write: { kind: DUE_REVOCATION_KIND, id: createId('rev'), tenant, expected: 0, body: { people } } }
    },
    isRevoked(person, jti, named) {
      const known = revocations.get(person)
      return known !== undefined && covers(known, jti, named)
    },
    async latestOf(person) {
      const document = await registry.get(REVOKED_PERSON_KIND, person)
      return document === null ? '' : toRevocation(document).id
    },
    markOf: (person) => revocations.get(person)?.id ?? '',
    live: () => revocations.live(clock.nowMs()),
    follow: (change) => revocations.follow(change),
    watch: (listener) => revocations.watch(listener),
  }
}

class Revocations {
  readonly #options: PersonRevocationsOptions
  /** In the order of their expiry. */
  readonly #known = new Map<string, Known>()
  readonly #listeners: ((person: string) => void)[] = []
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: PersonRevocationsOptions) {
    this.#options = options
  }

  async load(): Promise<void> {
    const stored: Revocation[] = []
    for await (const document of listAll(this.#options.registry, REVOKED_PERSON_KIND))
      stored.push(toRevocation(document))
    stored.sort((a, b) => a.untilMs - b.untilMs)
    // The caller sends them to the threads.
    for (const each of stored) this.#known.set(each.person, { ...each, isApplied: true })
  }

  get(person: string): Revocation | undefined {
    return this.#known.get(person)
  }

  /** Returns the revocations that may still matter, as the threads know them. */
  live(nowMs: number): readonly RevokedPerson[] {
    return [...this.#known.values()].filter(({ untilMs }) => untilMs > nowMs).map(toRevokedPerson)
  }

  watch(listener: (person: string) => void): void {
    this.#listeners.push(listener)
  }

  async revoke(tenant: string, people: readonly string[], due?: DueRevocation): Promise<void> {
    for (let from = 0; from < people.length; from += BATCH_MAX) {
      await this.#enqueue(() => this.#revokeBatch(tenant, people.slice(from, from + BATCH_MAX), due))
    }
    await this.#enqueue(() => this.#deleteExpired(people.length * DELETED_PER_REVOCATION))
  }

  follow({ document: { kind, id } }: Pick<Change, 'document'>): Promise<void> {
    return this.#enqueue(async () => {
      if (kind !== REVOKED_PERSON_KIND) return
      // Read again, because a change may come late, and a document that was deleted begins with revision 1.
      const stored = await this.#options.registry.get(REVOKED_PERSON_KIND, id)
      if (stored === null) return void this.#known.delete(id)
      const latest = toRevocation(stored)
      const known = this.#known.get(id)
      if (known?.id === latest.id && known.isApplied) return
      this.#note([latest])
      await this.#apply([latest])
    })
  }

  async #revokeBatch(tenant: string, people: readonly string[], due: DueRevocation | undefined): Promise<void> {
    const { registry, createId, clock, tokenLifetimeMs } = this.#options
    const untilMs = clock.nowMs() + tokenLifetimeMs + CLOCK_MARGIN_MS
    const made = { id: createId('tok'), untilMs }
    const known = new Map(people.map((person) => [person, this.#known.get(person)]))
    const revoked = await commitRevocations(registry, { tenant, people, due, made, known })
    this.#note(revoked)
    await this.#apply(revoked)
  }

  #note(revoked: readonly Revocation[]): void {
    for (const each of revoked) {
      this.#known.delete(each.person)
      this.#known.set(each.person, { ...each, isApplied: false })
    }
  }

  async #apply(revoked: readonly Revocation[]): Promise<void> {
    await this.#options.gateway.revokePeople(revoked.map(toRevokedPerson))
    for (const each of revoked) this.#known.set(each.person, { ...each, isApplied: true })
    for (const { person } of revoked) for (const listener of this.#listeners) listener(person)
  }

  /** Runs one task at a time, so that the threads receive revocations in the order of the registry. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }

  /** Deletes the oldest revocations whose tokens have expired, up to a number. */
  async #deleteExpired(max: number): Promise<void> {
    const nowMs = this.#options.clock.nowMs()
    const expired: Revocation[] = []
    for (const revocation of this.#known.values()) {
      if (expired.length >= max || revocation.untilMs > nowMs) break
      expired.push(revocation)
    }
    if (expired.length === 0) return
    const writes = expired.map(({ tenant, person, revision }) => toWrite(tenant, person, revision, null))
    try {
      await this.#options.registry.commit({ tenant: 'default', consumer: 'system' }, 'person.forget', writes)
      for (const { person } of expired) this.#known.delete(person)
    } catch (cause) {
      if (!(cause instanceof RevisionConflict)) throw cause
    }
  }
}

function toRevokedPerson({ person, id, before, untilMs }: Revocation): RevokedPerson {
  return { person, id, before, untilMs }
}
