/**
 * The segments of a spool as one reader process sees them: their names, their open files, and which of them are final.
 *
 * A segment is final if it existed before this process started to write, or if its writer has started another one.
 */

import { join } from 'node:path'
import { makeFolder } from '../../foundation/runtime/sync-folder.ts'
import { keepDamaged, moveDamaged } from './damaged-segments.ts'
import { createOpenSegments } from './open-segments.ts'
import type { Follower } from './read-segment.ts'
import type { SegmentFile } from './segment-file.ts'
import { segmentName } from './segment-name.ts'
import { foldersIn, lastSegments, removeTemporaries, segmentsIn } from './spool-folder.ts'

export class SpoolSegments {
  readonly #folder: string
  readonly #open = createOpenSegments()
  /** The last segment of each source when this process started. */
  readonly #found: ReadonlyMap<string, number>
  /** Damaged segments for which `keep` was called. */
  readonly #linked = new Set<string>()
  /** Damaged segments that could not be linked: they are moved when they are released. */
  readonly #unlinked = new Set<string>()

  /** Creates the folder if it is missing. Call it before writers start. */
  constructor(folder: string) {
    makeFolder(folder, 0o700)
    removeTemporaries(folder)
    this.#folder = folder
    this.#found = lastSegments(folder)
  }

  sources(): string[] {
    return foldersIn(this.#folder)
  }

  /** Returns the segment numbers of a source, in ascending order. */
  of(source: string): number[] {
    return segmentsIn(this.folderOf(source))
  }

  folderOf(source: string): string {
    return join(this.#folder, source)
  }

  pathOf(source: string, segment: number): string {
    return join(this.#folder, source, segmentName(segment))
  }

  /** Path relative to `DATA_DIR`. */
  nameOf(source: string, segment: number): string {
    return `spool/${source}/${segmentName(segment)}`
  }

  fileOf(source: string, segment: number): SegmentFile {
    return this.#open.at(this.pathOf(source, segment))
  }

  headerOf(source: string, segment: number): SegmentFile['header'] {
    return this.fileOf(source, segment).header
  }

  isFinal(source: string, segment: number, segments: readonly number[]): boolean {
    return this.isFound(source, segment) || segment < segments[segments.length - 1]!
  }

  /** True if the segment existed before this process started to write. */
  isFound(source: string, segment: number): boolean {
    return segment <= (this.#found.get(source) ?? 0)
  }

  followerOf(source: string, segment: number, next: number): Follower {
    const header = this.headerOf(source, next)
    if (header === null) return 'damaged'
    return header.continues >= segment ? 'numbered' : 'none'
  }

  /** Links a damaged segment into the folder of damaged segments, once. */
  keep(source: string, segment: number): void {
    const path = this.pathOf(source, segment)
    if (this.#linked.has(path)) return
    this.#linked.add(path)
    if (!keepDamaged(this.#folder, source, segment)) this.#unlinked.add(path)
  }

  /** Moves a damaged segment that `keep` could not link. Returns false if there is no such segment or the move fails. */
  moveUnkept(source: string, segment: number): boolean {
    return this.#unlinked.delete(this.pathOf(source, segment)) && moveDamaged(this.#folder, source, segment)
  }

  closeAt(path: string): void {
    this.#open.closeAt(path)
  }

  close(): void {
    this.#open.close()
  }
}
