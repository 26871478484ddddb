/**
 * The registry: every resource is a document `(kind, id, revision, body)`. Commits compare and set several documents atomically, and
 * a change feed delivers them.
 *
 * A commit is atomic and writes an audit entry for each document. The feed delivers every change once, in commit order; a consumer
 * that stores its position can resume after a restart. Bodies are JSON. Adapters: `sqlite/registry.ts` (one node) and
 * `postgres/registry.ts` (several).
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

/** A field of the body, or `state`: the state of the resource's machine, if the body stores one. */
export type ShownField<Body> = (keyof Body & string) | ('actor' extends keyof Body ? 'state' : never)

/** Filled while the modules load, by the declarations; constant from then on. */
const SHOWN_FIELDS = new Map<string, readonly string[]>()
/** Kinds whose bodies are part of the export of a tenant, with what is exported of a body. */
const EXPORTED_KINDS = new Map<string, (body: unknown) => unknown>()

/**
 * Declares a kind, at module level. `shown` lists the fields of the body that the audit log may show, never a secret; 'hidden': none.
 *
 * The list allows instead of forbidding, so that a field of a later version stays hidden until it is listed. The export of a tenant
 * has the same fields; of a kind that is 'exported' it has the whole body, or what the function returns.
 */
export function documentKind<Body>(
  name: string,
  shown: readonly ShownField<Body>[] | 'hidden',
  use: 'exported' | 'internal' | ((body: Body) => unknown) = 'internal',
): DocumentKind<Body> {
  if (SHOWN_FIELDS.has(name)) throw new Error(`the kind of document ${name} is declared twice`)
  SHOWN_FIELDS.set(name, shown === 'hidden' ? [] : shown)
  if (use !== 'internal') {
    EXPORTED_KINDS.set(name, use === 'exported' ? (body) => body : (body) => use(body as Body))
  }
  return name as DocumentKind<Body>
}

/** Returns the fields of each kind that the audit log may show; kinds without such fields are left out. */
export function shownFields(): ReadonlyMap<string, readonly string[]> {
  return new Map([...SHOWN_FIELDS].filter(([, fields]) => fields.length > 0))
}

export type Exported = readonly string[] | ((body: unknown) => unknown)

/** Returns for each kind the fields that the export of a tenant has, or a function that returns what it has of a body. */
export function exportedFields(): ReadonlyMap<string, Exported> {
  return new Map<string, Exported>([...shownFields(), ...EXPORTED_KINDS])
}

/** Returns the names of all kinds. */
export function declaredKinds(): readonly string[] {
  return [...SHOWN_FIELDS.keys()]
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
  /** Immutable: a write to a document of another tenant is a bug, and throws. */
  readonly tenant: string
  /** The expected current revision; 0: the document must not exist. */
  readonly expected: number
  /** `null` removes the document. */
  readonly body: unknown
  /**
   * Values by which `find` finds the document; they replace those of the previous revision. The labels of the body are values of the
   * key `label` in addition (`labels.ts`).
   */
  readonly keys?: Readonly<Record<string, string>>
  /** Names in `keys` whose value no other document of the kind may have, in any tenant. */
  readonly unique?: readonly string[]
}

/** Writes that succeed or fail together, with one audit entry per document. */
export interface Commit {
  readonly author: Author
  readonly action: string
  readonly writes: readonly Write[]
}

/** The author of a change, for the audit log. */
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

/** A change of a document, or a read that the service audits. */
export interface AuditEntry {
  /** Later entries have higher numbers. */
  readonly position: AuditPosition
  readonly atMs: number
  readonly author: Author
  readonly action: string
  readonly kind: string
  readonly id: string
  /** Revision before and after; null: the document did not exist, or was removed. Both null: it was read. */
  readonly fromRevision: number | null
  readonly toRevision: number | null
  /** Bodies; null if there is none, or if its kind is not in `bodiesOf`. */
  readonly before: unknown
  readonly after: unknown
}

/** Position in the audit log: its two tables, changes and notes, are numbered separately. */
export interface AuditPosition {
  readonly change: number
  readonly note: number
}

/** Deliveries of events are included only if the query has a `kind`, `id` or `action`. */
export interface AuditQuery {
  readonly tenant: string
  readonly kind?: string
  readonly id?: string
  readonly action?: string
  /** Id of the author; `FOREIGN_AUTHOR`: an author of another tenant. */
  readonly consumer?: string
  /** Entries older than this position. */
  readonly before?: AuditPosition
  /** Kinds whose bodies are loaded. */
  readonly bodiesOf: readonly string[]
  readonly limit: number
}

export interface SearchQuery {
  readonly tenant: string
  /** The beginning of an id or, in any case, of a name (`search-key.ts`). */
  readonly text: string
  readonly limit: number
}

export interface ListQuery {
  readonly tenant?: string
  /** Only documents with these values as `keys`; with all of them, if there are several for a name. */
  readonly where?: Readonly<Record<string, string | readonly string[]>>
  /** Only documents with an id after this one. */
  readonly after?: string
  /** Only documents with a value of this key that begins so; they are in the order of the value, then of the id, not of the id alone. */
  readonly prefix?: KeyPrefix
  readonly limit: number
}

export interface KeyPrefix {
  readonly name: string
  readonly value: string
  /** Only documents after this one; instead of `ListQuery.after`. */
  readonly after?: { readonly value: string; readonly id: string }
}

/** Replaces the author of a change by the operator, whose ids are not disclosed to other tenants. */
export const FOREIGN_AUTHOR = 'operator'

/** A document was not at the expected revision; the commit had no effect. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict'
}

/** Another document has the same unique key; the commit had no effect. */
export class KeyTaken extends Error {
  override readonly name = 'KeyTaken'
  readonly key: string
  constructor(key: string) {
    super(`another document has the same key ${key}`)
    this.key = key
  }
}

/** No space left to write; the commit had no effect, and the registry is intact. */
export class RegistryFull extends StoreUnwritable {
  override readonly name = 'RegistryFull'
  override readonly because = 'the disk is full'
}

export interface Registry {
  get<Body>(kind: DocumentKind<Body>, id: string): Promise<Document<Body> | null>
  /** Returns those of the documents that exist, by id. */
  getEach<Body>(kind: DocumentKind<Body>, ids: readonly string[]): Promise<ReadonlyMap<string, Document<Body>>>
  /** Returns the document whose key `name` is `value`; the first in id order if there are several. */
  find<Body>(kind: DocumentKind<Body>, name: string, value: string): Promise<Document<Body> | null>
  /** Returns documents of one kind, in id order. */
  list<Body>(kind: DocumentKind<Body>, query: ListQuery): Promise<readonly Document<Body>[]>
  /** Returns documents whose id or name begins with the text; those with the id first. It reads no more keys than it returns. */
  search<Body>(kind: DocumentKind<Body>, query: SearchQuery): Promise<readonly Document<Body>[]>
  /**
   * Resolves when the change is on disk and the watchers of this process have received it. Throws `RevisionConflict`, `KeyTaken`, or `StoreUnwritable` (`RegistryFull` if there is no
   * space).
   */
  commit(author: Author, action: string, writes: readonly Write[]): Promise<void>
  /**
   * Executes several commits with one sync, in order. A refused commit does not affect the others; its error is at its index in the
   * result. Throws `StoreUnwritable` if the disk fails; then no commit had an effect.
   */
  commitEach(commits: readonly Commit[]): Promise<readonly (Error | null)[]>
  /** Writes an audit entry for a read. */
  audit(author: Author, action: string, of: Pick<Document, 'kind' | 'id' | 'tenant'>): Promise<void>
  /**
   * Replaces the bodies in the audit log of a document by what `edit` returns. Rejects with `RevisionConflict` if the document still
   * exists and its body is not what `edit` returns, because its next change would store the body again.
   */
  redact(of: Pick<Document, 'kind' | 'id' | 'tenant'>, edit: (body: unknown) => unknown): Promise<void>
  /** Returns audit entries, newest first. */
  history(query: AuditQuery): Promise<readonly AuditEntry[]>
  /** Returns the position of the last change; `watch` from there delivers only future changes. */
  end(): Promise<number>
  /**
   * Calls `listener` with every change after `position`, stored ones first, then live ones, in order and without duplicates. The
   * listener runs after the commit is on disk, and cannot make it fail. Returns a function that unsubscribes.
   */
  watch(position: number, listener: (change: Change) => void): () => void
  close(): Promise<void> | void
}
