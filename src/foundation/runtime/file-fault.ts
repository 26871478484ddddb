/** Determines why a file operation failed: the path that causes the fault, and its kind. */

import { accessSync, closeSync, constants, existsSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface FileFault {
  readonly kind:
    | 'denied'
    | 'read-only'
    | 'full'
    | 'descriptors'
    | 'wrong-kind'
    | 'missing'
    | 'in-use'
    | 'device'
    | 'damaged'
  /** The path that causes the fault: the file, its folder or one of its companion files. */
  readonly path: string
  /** The code of the operating system, or SQLite's text. */
  readonly reason: string
  /** User ids of the path and of this process; null if unknown. */
  readonly owner: { readonly file: number; readonly process: number } | null
}

const KIND_OF_ERRNO: Readonly<Record<string, FileFault['kind']>> = {
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'read-only',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'full',
  EMFILE: 'descriptors',
  ENFILE: 'descriptors',
  EISDIR: 'wrong-kind',
  ENOTDIR: 'wrong-kind',
  EEXIST: 'wrong-kind',
  ELOOP: 'wrong-kind',
  ENAMETOOLONG: 'wrong-kind',
  ENXIO: 'wrong-kind',
  ENOENT: 'missing',
  EBUSY: 'in-use',
  ETXTBSY: 'in-use',
  EIO: 'device',
}

/** Primary result codes, https://sqlite.org/rescode.html */
const KIND_OF_SQLITE: Readonly<Record<number, FileFault['kind']>> = {
  3: 'denied',
  5: 'in-use',
  6: 'in-use',
  8: 'denied',
  10: 'device',
  11: 'damaged',
  13: 'full',
  14: 'denied',
  22: 'full',
  26: 'damaged',
}
const PRIMARY_CODE = 0xff
const PROBE_BYTES = 64 * 1024
/** Files that SQLite keeps beside a database. */
const COMPANIONS = ['', '-wal', '-shm', '-journal']

/** Null: `cause` is neither an error of the operating system nor one of SQLite. */
export function fileFault(file: string, cause: unknown): FileFault | null {
  if (!(cause instanceof Error)) return null
  const { code, path, errcode } = cause as { code?: unknown; path?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return sqliteFault(file, errcode & PRIMARY_CODE, cause.message)
  if (typeof code !== 'string') return null
  const kind = KIND_OF_ERRNO[code]
  return kind === undefined ? null : toFault(kind, typeof path === 'string' ? path : file, code)
}

/** Probes the file system, because SQLite names no path and reports most reasons as `SQLITE_CANTOPEN`. */
function sqliteFault(file: string, code: number, message: string): FileFault | null {
  const kind = KIND_OF_SQLITE[code]
  if (kind === undefined) return null
  const obstacle = kind === 'in-use' || kind === 'full' ? null : (obstacleTo(file) ?? fullDisk(file, kind))
  return obstacle ?? toFault(kind, file, message)
}

/** The first of the folder, the file and its companions that cannot be written. */
function obstacleTo(file: string): FileFault | null {
  return (
    faultOf(dirname(file), (folder) => accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)) ??
    COMPANIONS.map((suffix) => file + suffix)
      .filter((path) => existsSync(path))
      .map((path) => faultOf(path, tryOpen))
      .find((fault) => fault !== null) ??
    null
  )
}

function faultOf(path: string, attempt: (path: string) => void): FileFault | null {
  try {
    attempt(path)
    return null
  } catch (cause) {
    return fileFault(path, cause)
  }
}

function tryOpen(path: string): void {
  closeSync(openSync(path, 'r+'))
}

/** Detects a full disk with a test write beside the file. */
function fullDisk(file: string, kind: FileFault['kind']): FileFault | null {
  if (kind === 'damaged') return null
  const fault = faultOf(file, tryToWriteBeside)
  return fault === null ? null : { ...fault, path: file }
}

function tryToWriteBeside(path: string): void {
  const probe = join(dirname(path), `.probe-${process.pid}`)
  try {
    const file = openSync(probe, 'w', 0o600)
    try {
      writeSync(file, Buffer.alloc(PROBE_BYTES))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } finally {
    rmSync(probe, { force: true })
  }
}

function toFault(kind: FileFault['kind'], path: string, reason: string): FileFault {
  return { kind, path, reason, owner: kind === 'denied' ? ownerOf(path) : null }
}

/** Owner of the path, or of its folder if the path does not exist. */
function ownerOf(path: string): FileFault['owner'] {
  const process_ = process.geteuid?.()
  if (process_ === undefined) return null
  try {
    return { file: statSync(existsSync(path) ? path : dirname(path)).uid, process: process_ }
  } catch {
    return null
  }
}
