/** The documents of revoked people, and their commit, which other nodes may make at the same time. */

import { commit } from '../command/commands.ts'
import {
  documentKind,
  RevisionConflict,
  type Author,
  type Document,
  type Registry,
  type Write,
} from '../../storage/store/registry.ts'
import type { RevokedPerson } from '../../boundary/plan/gateway-port.ts'

interface RevokedPersonBody {
  readonly before: string
  readonly untilMs: number
  /** Missing in a document of an earlier version: `before` names the revocation. */
  readonly id?: string
}

interface DueBody {
  readonly people: readonly string[]
}

export interface Revocation extends RevokedPerson {
  readonly tenant: string
  readonly revision: number
}

/** A revocation of at most 500 people that has to follow a change. */
export interface DueRevocation {
  readonly write: Write
}

export interface NewRevocations {
  readonly tenant: string
  readonly people: readonly string[]
  /** Completed by the same commit. */
  readonly due: DueRevocation | undefined
  readonly made: Pick<Revocation, 'id' | 'untilMs'>
  /** The revocations as this process knows them. */
  readonly known: ReadonlyMap<string, Pick<Revocation, 'revision' | 'before'> | undefined>
}

export const REVOKED_PERSON_KIND = documentKind<RevokedPersonBody>('revoked_person', 'hidden')
export const DUE_REVOCATION_KIND = documentKind<DueBody>('due_revocation', 'hidden')
const ATTEMPTS_MAX = 10

export function toRevocation({ id: person, tenant, revision, body }: Document<RevokedPersonBody>): Revocation {
  const { before, untilMs, id = before } = body
  return { person, tenant, revision, before, untilMs, id }
}

export function toWrite(tenant: string, id: string, expected: number, body: RevokedPersonBody | null): Write {
  return { kind: REVOKED_PERSON_KIND, id, tenant, expected, body }
}

/** Stores revocations. Revisions that this process does not know yet are read from the registry after a conflict. */
export async function commitRevocations(registry: Registry, made: NewRevocations): Promise<readonly Revocation[]> {
  const { tenant, people } = made
  const author = { tenant, consumer: 'system' }
  let { known, due } = made
  for (let attempt = 1; ; attempt++) {
    const revoked = people.map((person) => toNext(made, person, known.get(person)))
    const writes = revoked.map(({ person, revision, before, untilMs, id }) =>
      toWrite(tenant, person, revision - 1, { before, untilMs, id }),
    )
    const done = due === undefined ? [] : [{ ...due.write, expected: 1, body: null }]
    if (await tryCommit(registry, author, [...writes, ...done], attempt === ATTEMPTS_MAX)) return revoked
    known = await readKnown(registry, people)
    // A node that started meanwhile may have carried it out.
    if (due !== undefined && (await registry.get(DUE_REVOCATION_KIND, due.write.id)) === null) due = undefined
  }
}

function toNext(
  { tenant, made: { id, untilMs } }: NewRevocations,
  person: string,
  known: Pick<Revocation, 'revision' | 'before'> | undefined,
): Revocation {
  // Tokens of an earlier version stay refused, also if the clock of another node was ahead.
  const before = known !== undefined && known.before > id ? known.before : id
  return { person, tenant, revision: (known?.revision ?? 0) + 1, before, untilMs, id }
}

/** Returns false after a conflict, unless it is the last attempt, which throws a problem. */
async function tryCommit(
  registry: Registry,
  author: Author,
  writes: readonly Write[],
  isLast: boolean,
): Promise<boolean> {
  try {
    await commit(registry, author, 'person.revoke', writes)
    return true
  } catch (cause) {
    if (!isLast && cause instanceof Error && cause.cause instanceof RevisionConflict) return false
    throw cause
  }
}

async function readKnown(registry: Registry, people: readonly string[]): Promise<NewRevocations['known']> {
  const documents = await Promise.all(people.map((person) => registry.get(REVOKED_PERSON_KIND, person)))
  return new Map(documents.flatMap((document) => (document === null ? [] : [[document.id, toRevocation(document)]])))
}
