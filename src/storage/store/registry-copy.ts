/**
 * A copy of the documents of a shared registry on the disk of a node, which serves from it if it starts while the registry is away.
 *
 * The copy is always the registry as it was at one moment. It may be older than what the node has applied: a crash loses what was not
 * written yet.
 */

import type { StoredDocument } from './document-row.ts'
import type { Registry } from './registry.ts'

/** A moment of a registry: its last change. */
export interface RegistryMark {
  readonly position: number
  /** Random id of the commit; '' for an empty registry. */
  readonly commitId: string
}

export interface CopiedKey {
  readonly kind: string
  readonly name: string
  readonly value: string
  readonly tenant: string
  readonly id: string
  readonly is_unique: boolean
}

/** Documents as they are at the moment of a snapshot. */
export interface CopiedPage {
  /** All documents that the page is about; those without a row were removed. */
  readonly names: readonly Pick<StoredDocument, 'kind' | 'id'>[]
  readonly documents: readonly StoredDocument[]
  readonly keys: readonly CopiedKey[]
}

export interface CopyReceiver {
  /** Everything follows, so that what the copy has is obsolete. */
  clear(): void
  receive(page: CopiedPage): void
}

export interface RegistrySnapshots {
  /** Whether the registry has this moment; false if it was restored to an earlier one. Throws `StoreUnwritable`. */
  has(mark: RegistryMark): Promise<boolean>
  /**
   * Sends what has changed after a moment, as of now, and returns the moment that this is. Everything is sent if there is no moment, or
   * the registry does not have it, because it was restored. Documents of the kinds `except` are left out. Throws `StoreUnwritable`.
   */
  read(after: RegistryMark | null, except: readonly string[], receiver: CopyReceiver): Promise<RegistryMark>
}

/** Whose copy it is. Any difference makes a copy useless. */
export interface CopyOrigin {
  readonly lineage: string
  /** Keyed hash, which tells one `MASTER_KEY` from another. */
  readonly fingerprint: string
  readonly gatewayUrl: string
  /** Version of tollgate: documents that another one wrote may have to be migrated. */
  readonly version: string
}

/** Properties of the node that hold after a restart, also if the registry cannot be asked. */
export interface CopyNotes {
  /** The node is in the list of nodes, so that commands of others wait for it or name it. */
  readonly isListed: boolean
  /** Identity under which the node may hold leases, as the registry knows. */
  readonly leaseIdentity: string | null
}

export type RegistryReads = Pick<Registry, 'get' | 'getEach' | 'find' | 'list' | 'search'>

export interface RegistryCopy {
  /** The moment of the copy; null: it is not complete yet. */
  readonly mark: RegistryMark | null
  readonly notes: CopyNotes
  /** Only for a complete copy that is not being updated. */
  readonly reads: RegistryReads
  /**
   * Notes that the node is about to report to others that it serves this change. If it ends before the copy has it, the copy is not used:
   * the change may take access away. Positions do not decrease. The note survives the process, not the machine.
   */
  expect(position: number): void
  /** Notes are on disk when it returns, unless the copy is not complete yet; then they are written with it. */
  note(changed: Partial<CopyNotes>): void
  /** Brings the copy to the moment that `read` returns, or leaves it as it is if that rejects. One at a time. */
  update(read: (receiver: CopyReceiver) => Promise<RegistryMark>): Promise<void>
  close(): void
}
