/**
 * Decides commits: which are refused, and what the others write.
 *
 * It works on what a transaction has read under the lock of commits. Several commits in a row see the results of each other; a refused
 * one leaves no trace.
 */

import type { StoredDocument } from '../document-row.ts'
import { LABEL_KEY, labelValues } from '../labels.ts'
import { FOREIGN_AUTHOR, KeyTaken, RevisionConflict, type Commit, type Write } from '../registry.ts'
import { SEARCH_KEY, searchValues } from '../search-key.ts'
import { toText } from './connection.ts'

export interface KeyRow {
  readonly kind: string
  readonly name: string
  readonly value: string
  readonly tenant: string
  readonly id: string
  readonly is_unique: boolean
}

export interface ChangeRow extends StoredDocument {
  readonly removed: boolean
  readonly before: string | null
  readonly author: string
  readonly shown_author: string
  readonly action: string
}

export type Key = Pick<KeyRow, 'kind' | 'name' | 'value'>
export type DocumentName = Pick<StoredDocument, 'kind' | 'id'>

/** The transaction has read every document that is written, and every holder of a unique key that is written. */
export interface ReadState {
  readonly documents: readonly StoredDocument[]
  readonly holders: readonly (Key & DocumentName)[]
}

export interface CommitPlan {
  /** By index of the commit: null if it is executed. */
  readonly errors: readonly (Error | null)[]
  /** Documents whose rows and keys are replaced. */
  readonly touched: readonly DocumentName[]
  readonly documents: readonly StoredDocument[]
  readonly keys: readonly KeyRow[]
  readonly changes: readonly ChangeRow[]
}

/** The state of a document within the transaction; `stored` null: it does not exist. */
interface Draft extends DocumentName {
  readonly stored: StoredDocument | null
  readonly keys: readonly KeyRow[]
}

type Drafts = Map<string, Draft>

const nameOf = ({ kind, id }: DocumentName): string => `${kind} ${id}`
const valueOf = ({ kind, name, value }: Key): string => `${kind} ${name} ${value}`

/** Returns the documents that a transaction must read first. */
export function documentsOf(commits: readonly Commit[]): readonly DocumentName[] {
  const names = commits.flatMap(({ writes }) => writes.map(({ kind, id }) => ({ kind, id: toText(id) })))
  return [...new Map(names.map((name) => [nameOf(name), name])).values()]
}

/** Returns the keys whose holders a transaction must read first. */
export function uniqueKeysOf(commits: readonly Commit[]): readonly Key[] {
  const keys = commits.flatMap(({ writes }) =>
    writes.flatMap(({ kind, body, keys: values = {}, unique = [] }) =>
      body === null ? [] : unique.flatMap((name) => (name in values ? [{ kind, name, value: values[name]! }] : [])),
    ),
  )
  const texts = keys.map((key) => ({ ...key, value: toText(key.value) }))
  return [...new Map(texts.map((key) => [valueOf(key), key])).values()]
}

export function planCommits(commits: readonly Commit[], read: ReadState, nowMs: () => number): CommitPlan {
  const plan = new Plan(read)
  const changes: ChangeRow[] = []
  const errors = commits.map((commit) => {
    try {
      changes.push(...plan.execute(commit, nowMs))
      return null
    } catch (cause) {
      return cause instanceof Error ? cause : new Error(String(cause))
    }
  })
  const drafts = plan.drafts()
  return {
    errors,
    touched: drafts.map(({ kind, id }) => ({ kind, id })),
    documents: drafts.flatMap(({ stored }) => (stored === null ? [] : [stored])),
    keys: drafts.flatMap(({ keys }) => keys),
    changes,
  }
}

class Plan {
  readonly #stored: ReadonlyMap<string, StoredDocument>
  readonly #holders = new Map<string, Set<string>>()
  #drafts: Drafts = new Map()

  constructor({ documents, holders }: ReadState) {
    this.#stored = new Map(documents.map((document) => [nameOf(document), document]))
    for (const holder of holders) {
      const ids = this.#holders.get(valueOf(holder)) ?? new Set()
      this.#holders.set(valueOf(holder), ids.add(holder.id))
    }
  }

  drafts(): readonly Draft[] {
    return [...this.#drafts.values()]
  }

  /** Throws `RevisionConflict` or `KeyTaken`; then nothing has changed. */
  execute({ author, action, writes }: Commit, nowMs: () => number): readonly ChangeRow[] {
    const drafts: Drafts = new Map()
    const shared = { author: JSON.stringify(author), action: toText(action) }
    const changes = writes.map((write) => {
      const change = this.#write(drafts, write, nowMs())
      return { ...change, ...shared, shown_author: shownAuthor(author, write.tenant) }
    })
    // After all old keys are gone, because one document may take over the key of another.
    const last = new Map(writes.map((write) => [`${write.kind} ${toText(write.id)}`, write]))
    const taken = writes.some(({ unique = [] }) => unique.length > 0) ? this.#keysBeside(drafts) : NOTHING_TAKEN
    for (const [name, write] of last) {
      const keys = toKeys(write)
      for (const key of keys) refuseTaken(key, taken)
      drafts.set(name, { ...drafts.get(name)!, keys })
      if (taken !== NOTHING_TAKEN) for (const key of keys) add(taken.drafted, valueOf(key), key.id)
    }
    this.#drafts = new Map([...this.#drafts, ...drafts])
    return changes
  }

  #write(drafts: Drafts, write: Write, nowMs: number): Omit<ChangeRow, 'author' | 'shown_author' | 'action'> {
    const { kind, expected, tenant, body } = write
    const name = { kind, id: toText(write.id) }
    const before = this.#current(drafts, nameOf(name))
    if ((before?.revision ?? 0) !== expected || (before === null && body === null)) {
      throw new RevisionConflict(`${kind} ${write.id} is not at revision ${expected}`)
    }
    if (before !== null && before.tenant !== tenant) throw new Error(`${kind} ${write.id} is not of tenant ${tenant}`)
    const text = body === null ? (before?.body ?? 'null') : JSON.stringify(body)
    const row = {
      ...name,
      tenant,
      revision: expected + 1,
      body: text,
      created_at_ms: before?.created_at_ms ?? nowMs,
      updated_at_ms: nowMs,
    }
    drafts.set(nameOf(name), { ...name, stored: body === null ? null : row, keys: [] })
    return { ...row, removed: body === null, before: before?.body ?? null }
  }

  #current(drafts: Drafts, name: string): StoredDocument | null {
    const draft = drafts.get(name) ?? this.#drafts.get(name)
    return draft === undefined ? (this.#stored.get(name) ?? null) : draft.stored
  }

  /** Keys that stay held while the documents of `drafts` have given up theirs. */
  #keysBeside(drafts: Drafts): TakenKeys {
    const drafted = new Map<string, Set<string>>()
    for (const [name, draft] of this.#drafts) {
      if (drafts.has(name)) continue
      for (const key of draft.keys) add(drafted, valueOf(key), key.id)
    }
    const isRewritten = (name: string): boolean => drafts.has(name) || this.#drafts.has(name)
    return { stored: this.#holders, drafted, isRewritten }
  }
}

interface TakenKeys {
  readonly stored: ReadonlyMap<string, ReadonlySet<string>>
  readonly drafted: Map<string, Set<string>>
  /** Whether a document has other keys within the transaction than it had before. */
  readonly isRewritten: (name: string) => boolean
}

/** For commits without unique keys. */
const NOTHING_TAKEN: TakenKeys = { stored: new Map(), drafted: new Map(), isRewritten: () => false }

function refuseTaken(key: KeyRow, { stored, drafted, isRewritten }: TakenKeys): void {
  if (!key.is_unique) return
  const value = valueOf(key)
  const before = [...(stored.get(value) ?? [])].filter((id) => !isRewritten(`${key.kind} ${id}`))
  const now = [...(drafted.get(value) ?? [])]
  if ([...before, ...now].some((id) => id !== key.id)) throw new KeyTaken(key.name)
}

function add(map: Map<string, Set<string>>, value: string, id: string): void {
  map.set(value, (map.get(value) ?? new Set()).add(id))
}

function toKeys({ kind, id, tenant, body, keys = {}, unique = [] }: Write): readonly KeyRow[] {
  if (body === null) return []
  const shared = { kind, tenant, id: toText(id) }
  const given = Object.entries(keys).map(([name, value]) => ({
    ...shared,
    name,
    value: toText(value),
    is_unique: unique.includes(name),
  }))
  const derive = (name: string, values: readonly string[]): KeyRow[] =>
    values.map((value) => ({ ...shared, name, value: toText(value), is_unique: false }))
  const all = [
    ...given,
    ...derive(LABEL_KEY, labelValues(body)),
    ...derive(SEARCH_KEY, searchValues(kind, tenant, body)),
  ]
  return [...new Map(all.map((key) => [valueOf(key), key])).values()]
}

/** Id by which the audit log of a tenant names the author of a change. */
export function shownAuthor({ tenant, consumer }: { tenant: string; consumer: string }, of: string): string {
  return toText(tenant === of || consumer === 'system' ? consumer : FOREIGN_AUTHOR)
}
