/**
 * The registry: every resource as a document `(kind, id, revision, body)`, with compare-and-set over
 * several documents at once and a change feed.
 *
 * A commit is all or nothing and leaves an audit entry for each document. The feed gives every change
 * once, in commit order; who stores a position can go on from it after a restart. Bodies are JSON.
 * Adapters: `sqlite/registry.ts` (one node); PostgreSQL can stand behind the same port.
 */

import { StoreUnwritable } from './unwritable.ts'

declare const BODY: unique symbol

/**
 * The name of a kind of document, with the type of its body.
 *
 * Each kind is declared once, beside its body, so that no read can name the body of another kind. The marker exists only in the
 * types and makes `Body` invariant.
 */
export type DocumentKind<Body> = string & { readonly [BODY]: (body: Body) => Body }

export function documentKind<Body>(name: string): DocumentKind<Body> {
  return name as DocumentKind<Body>
}

/** Narrows a document of the change feed to its kind. */
export function isOfKind<Body>(document: Document, kind: DocumentKind<Body>): document is Document<Body> {
  return document.kind === kind
}

export interface Document<Body = unknown> {
  readonly kind: string
  readonly id: string
  readonly tenant: string
  /** Counts from 1; every commit that touches the document adds one. */
  readonly revision: number
  readonly body: Body
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface Write {
  readonly kind: string
  readonly id: string
  /** Of the document for good: a write to another tenant's is a bug, and throws. */
  readonly tenant: string
  /** The revision that must be there now; 0: the document must not exist. */
  readonly expected: number
  /** `null` removes the document. */
  readonly body: unknown
  /** Values by which `find` finds the document; they replace those of the revision before. */
  readonly keys?: Readonly<Record<string, string>>
  /** Names in `keys` whose value no other document of the kind may carry, in any tenant. */
  readonly unique?: readonly string[]
}

/** All or nothing, with one audit entry for each document. */
export interface Commit {
  readonly author: Author
  readonly action: string
  readonly writes: readonly Write[]
}

/** Who changes something, for the audit. */
export interface Author {
  readonly tenant: string
  /** A consumer's id, or `system`. */
  readonly consumer: string
  readonly agent?: string
  readonly person?: string
}

export interface Change {
  readonly position: number
  readonly document: Document
  /** `document.body` is the last one before the removal. */
  readonly removed: boolean
}

/** Something that was done: a document that changed, or one that was read where reading is noted. */
export interface AuditEntry {
  /** Orders entries; the later ones of a kind of entry carry the higher numbers. */
  readonly position: AuditPosition
  readonly atMs: number
  readonly author: Author
  readonly action: string
  readonly kind: string
  readonly id: string
  /** Revision before and after; null: it was not there, or it is not any more. Both null: it was only read. */
  readonly fromRevision: number | null
  readonly toRevision: number | null
  /** Bodies; null where there is none, or where its kind is not in `bodiesOf`. */
  readonly before: unknown
  readonly after: unknown
}

/** How far a reader has come: each of the two records of the audit is numbered by itself. */
export interface AuditPosition {
  readonly change: number
  readonly note: number
}

/** Attempts to deliver events come only where their kind, id or action is asked for. */
export interface AuditQuery {
  readonly tenant: string
  readonly kind?: string
  readonly id?: string
  readonly action?: string
  /** Id of the consumer that did it; `FOREIGN_AUTHOR`: one of another tenant. */
  readonly consumer?: string
  /** Entries older than this position. */
  readonly before?: AuditPosition
  /** Kinds of which bodies are read; those of others stay where they are. */
  readonly bodiesOf: readonly string[]
  readonly limit: number
}

export interface ListQuery {
  readonly tenant?: string
  /** Only documents that carry these values as `keys`. */
  readonly where?: Readonly<Record<string, string>>
  /** Ids after this one, in id order. */
  readonly after?: string
  readonly limit: number
}

/** Stands for the author of a change that the operator made in another tenant, whose ids that tenant may not learn. */
export const FOREIGN_AUTHOR = 'operator'

/** A document was not at the expected revision; nothing of the commit was done. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict'
}

/** A unique key is taken by another document; nothing of the commit was done. */
export class KeyTaken extends Error {
  override readonly name = 'KeyTaken'
  readonly key: string
  constructor(key: string) {
    super(`key ${key} is taken`)
    this.key = key
  }
}

/** There is no room to write; nothing of the commit was done, and what is there is whole. */
export class RegistryFull extends StoreUnwritable {
  override readonly name = 'RegistryFull'
}

export interface Registry {
  get<Body>(kind: DocumentKind<Body>, id: string): Promise<Document<Body> | null>
  /** The document that carries `value` as its key `name`; the first where several do. */
  find<Body>(kind: DocumentKind<Body>, name: string, value: string): Promise<Document<Body> | null>
  /** Documents of one kind, in id order. */
  list<Body>(kind: DocumentKind<Body>, query: ListQuery): Promise<readonly Document<Body>[]>
  /** Throws `RevisionConflict`, `KeyTaken` or `StoreUnwritable` (`RegistryFull` if there is no room); resolves when the change is on disk. */
  commit(author: Author, action: string, writes: readonly Write[]): Promise<void>
  /**
   * Several commits in one go to the disk, in their order. One that is refused, as `commit` would refuse it, does not
   * touch the others: its error stands in its place. Throws `StoreUnwritable` if none of them is done.
   */
  commitEach(commits: readonly Commit[]): Promise<readonly (Error | null)[]>
  /** Notes something that was read and not changed. */
  audit(author: Author, action: string, of: Pick<Document, 'kind' | 'id' | 'tenant'>): Promise<void>
  /** What was done, newest first. */
  history(query: AuditQuery): Promise<readonly AuditEntry[]>
  /** The position of the last change: who watches from there hears of what is yet to come. */
  end(): Promise<number>
  /**
   * Hears of every change after `position`, first the stored ones, then the live ones, in order, none
   * twice. The listener runs after the commit is on disk, and cannot make it fail. Returns how to stop.
   */
  watch(position: number, listener: (change: Change) => void): () => void
  close(): void
}
