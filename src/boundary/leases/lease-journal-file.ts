/**
 * The journal of a node on disk: a header with the identity under which the node holds leases, and one line for each claim.
 *
 * It survives the process, not the machine: nothing is synced, so that a grant costs one `write`. If the machine has started anew since,
 * or any line is damaged, claims may be missing. The node then takes a new identity, and whatever the old one held counts as used. An
 * older copy of the file looks intact: if the folder may be one, the journals are discarded before the node starts. The file is
 * rewritten when it has grown, and then replaced as a whole.
 */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../../foundation/runtime/sync-folder.ts'
import type { JournalEntry } from './lease-journal.ts'

export interface JournalFile {
  readonly identity: string
  /** Number of starts with this identity. */
  readonly session: number
  /** Claims of earlier sessions, in the order in which they were written. */
  readonly restored: readonly JournalEntry[]
  write(entries: readonly JournalEntry[]): void
  close(): void
}

/** Leases of Redis and slices have a journal each. */
export const JOURNAL_NAMES = ['leases.journal', 'slices.journal'] as const

export type JournalName = (typeof JOURNAL_NAMES)[number]

export interface JournalFileOptions {
  readonly folder: string
  readonly name?: JournalName
  /** Changes when the machine starts; null if the platform does not say. Then every start takes a new identity. */
  readonly bootId: string | null
  readonly newIdentity: () => string
  /** Returns the claims to keep when the file is rewritten. */
  readonly retained: () => readonly JournalEntry[]
  /** The file may grow to this size, or to twice what is retained. */
  readonly bytesMax?: number
}

interface Header {
  readonly identity: string
  readonly session: number
  readonly bootId: string | null
}

interface OpenFile {
  readonly descriptor: number
  bytes: number
  readonly retainedBytes: number
}

const FORMAT = 1
const BYTES_MAX = 4_000_000

export function openJournalFile(options: JournalFileOptions): JournalFile {
  const { folder, name = 'leases.journal', bootId, retained, bytesMax = BYTES_MAX } = options
  const path = join(folder, name)
  const known = readJournal(path)
  const isUsable = known !== null && bootId !== null && known.header.bootId === bootId
  const header: Header = isUsable
    ? { ...known.header, session: known.header.session + 1 }
    : { identity: options.newIdentity(), session: 1, bootId }
  const restored = isUsable ? known.entries : []
  let file: OpenFile | null = replace(path, header, restored)
  syncFolder(folder)

  return {
    identity: header.identity,
    session: header.session,
    restored,
    write(entries) {
      // The number of a closed descriptor may already belong to another file or socket.
      if (file === null) throw new Error('the journal of leases is closed')
      if (file.bytes > Math.max(bytesMax, 2 * file.retainedBytes)) {
        const before = file
        file = replace(path, header, retained())
        closeSync(before.descriptor)
        syncFolder(folder)
      }
      file.bytes += writeLines(file.descriptor, entries.map(encodeEntry))
    },
    close() {
      if (file !== null) closeSync(file.descriptor)
      file = null
    },
  }
}

/** Makes the node take new identities when it starts. Returns the names of the journals that were there. */
export function discardJournals(folder: string, names: readonly JournalName[] = JOURNAL_NAMES): readonly JournalName[] {
  const found = names.filter((name) => existsSync(join(folder, name)))
  for (const name of found) rmSync(join(folder, name))
  if (found.length > 0) syncFolder(folder)
  return found
}

/**
 * Writes a new file in place of the one at `path`, so that a crash leaves one of them whole. If it throws, the one before is still in
 * place; once it has returned, only the new file may be written.
 */
function replace(path: string, header: Header, entries: readonly JournalEntry[]): OpenFile {
  const next = `${path}.next`
  const descriptor = openSync(next, 'w', 0o600)
  try {
    const first = JSON.stringify([FORMAT, header.identity, header.session, header.bootId])
    const bytes = writeLines(descriptor, [first, ...entries.map(encodeEntry)])
    fsyncSync(descriptor)
    renameSync(next, path)
    return { descriptor, bytes, retainedBytes: bytes }
  } catch (cause) {
    closeSync(descriptor)
    throw cause
  }
}

/** Writes all lines with one call; throws if the disk took only a part, since the rest could not be read. */
function writeLines(descriptor: number, lines: readonly string[]): number {
  const data = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  const written = writeSync(descriptor, data)
  if (written < data.length) throw new Error('the journal of leases was written in part')
  return written
}

/** Returns null if there is no journal, or a line of it is damaged. */
function readJournal(path: string): { readonly header: Header; readonly entries: readonly JournalEntry[] } | null {
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    // A process that was killed in a write may leave the beginning of a line, whose calls were never admitted.
    lines.pop()
    const [first = '', ...rest] = lines
    const header = decodeHeader(JSON.parse(first))
    const entries = rest.map((line) => decodeEntry(JSON.parse(line)))
    return header === null || entries.includes(null)
      ? null
      : { header, entries: entries.filter((each) => each !== null) }
  } catch {
    return null
  }
}

function encodeEntry({ key, startMs, endMs, claim }: JournalEntry): string {
  return JSON.stringify([key, startMs, endMs, claim])
}

function decodeHeader(value: unknown): Header | null {
  if (!Array.isArray(value)) return null
  const [format, identity, session, bootId] = value as unknown[]
  const isHeader = format === FORMAT && typeof identity === 'string' && Number.isSafeInteger(session)
  return isHeader && typeof bootId === 'string' ? { identity, session: session as number, bootId } : null
}

function decodeEntry(value: unknown): JournalEntry | null {
  if (!Array.isArray(value)) return null
  const [key, startMs, endMs, claim] = value as unknown[]
  const areNumbers = [startMs, endMs, claim].every((each) => Number.isSafeInteger(each))
  if (typeof key !== 'string' || !areNumbers) return null
  return { key, startMs: startMs as number, endMs: endMs as number, claim: claim as number }
}
