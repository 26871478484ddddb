/** Reads documents for commands on the document thread, since a large document would block the main thread for seconds. */

import type { PlacedChange } from '../../documents/governance/compare/change.ts'
import type { RulesetDocument } from '../../documents/governance/ruleset-document.ts'
import { jobKind } from '../../foundation/jobs/job-kind.ts'
import type { ThreadPool } from '../../foundation/jobs/thread-pool.ts'

export interface DocumentReader {
  /** Reads, compiles and compares a document. Throws `Problem('specification_invalid')`. */
  read(request: DocumentRequest, tenant: string): Promise<ReadDocument>
  /** Returns the packed form of a document that was accepted before. */
  compile(request: CompileRequest, tenant: string): Promise<Uint8Array>
  /** Returns the form of an accepted document for consumers, as JSON. */
  publish(bytes: Uint8Array, tenant: string): Promise<Uint8Array>
}

export interface CompileRequest {
  readonly bytes: Uint8Array
  /** Keeps descriptions also if the document does not ask for MCP. */
  readonly hasProse: boolean
}

export interface DocumentRequest {
  readonly bytes: Uint8Array
  readonly previous: PreviousDocument | null
}

/** The active document, to compare with. */
export interface PreviousDocument {
  /** Moved to the thread: not readable afterwards. */
  readonly bytes: Uint8Array
  /** Its technical name; a document with another one is not compared. */
  readonly api: string
  readonly nowMs: number
  readonly ruleset: RulesetDocument | undefined
}

/** The facts of a document that commands need: few, however large the document is. */
export interface ReadDocument {
  readonly technicalName: string
  readonly title: string
  readonly version: string
  readonly major: number
  readonly mediaType: string
  /** `servers[0]`; null if it is not absolute. */
  readonly serverUrl: string | null
  readonly operationIds: readonly string[]
  /** With the default scopes, if the document uses them. */
  readonly declaredScopes: readonly string[]
  /** Whether an operation has `x-tollgate-units`. */
  readonly countsUnits: boolean
  /** Ids of the operations that write and need no credential. */
  readonly publicWrites: readonly string[]
  /** Null if there is no previous document, or if it was not compared. */
  readonly previous: ComparedDocument | null
  /** The packed form. */
  readonly compiled: Uint8Array
  /** The document to store in its place, so that a later version of the converter does not change what serves; null: none. */
  readonly converted: Uint8Array | null
}

export interface ComparedDocument {
  readonly serverUrl: string | null
  /** The number of breaking changes since the previous document. */
  readonly breaking: number
  /** The first breaking changes. */
  readonly changes: readonly PlacedChange[]
}

export const READ = jobKind<DocumentRequest, ReadDocument>('read')
export const COMPILE = jobKind<CompileRequest, Uint8Array>('compile')
export const PUBLISH = jobKind<Uint8Array, Uint8Array>('publish')

/** Longer than for judging, because the command must succeed on a busy machine too. */
const DEADLINE_MS = 30_000
const MOVED_BYTES_MIN = 1024 * 1024

export function createDocumentReader(pool: Pick<ThreadPool, 'run'>): DocumentReader {
  return {
    read: (request, tenant) =>
      pool.run(READ, request, { tenant, deadlineMs: DEADLINE_MS, moved: movable(request.previous?.bytes) }),
    compile: (request, tenant) => pool.run(COMPILE, request, { tenant, deadlineMs: DEADLINE_MS }),
    publish: (bytes, tenant) => pool.run(PUBLISH, bytes, { tenant, deadlineMs: DEADLINE_MS }),
  }
}

/** Returns the buffer of large bytes; small ones may be parts of a buffer that they share. */
function movable(bytes: Uint8Array | undefined): readonly ArrayBuffer[] {
  return bytes !== undefined && bytes.length >= MOVED_BYTES_MIN && bytes.buffer instanceof ArrayBuffer
    ? [bytes.buffer]
    : []
}
