/**
 * A refused start: exit code 2 and a sentence that names the file and the remedy.
 *
 * `toStartRefused` maps errors of the operating system and of SQLite. SQLite reports most of them as "unable to open database file", so
 * the file, its folder and its companion files are probed for the actual obstacle.
 */

import { fileFault, type FileFault } from './file-fault.ts'

/** The service must not start. The message is for the operator: one line per reason, each with the remedy. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}

/**
 * Returns the refusal for an operation on `file` that failed with `cause`. Returns a `StartRefused` unchanged, and also an error
 * that comes from neither the operating system nor SQLite: that is a bug, and keeps its stack.
 *
 * `remedyIfDamaged` replaces the advice for a file that is not a database, or a damaged one.
 */
export function toStartRefused(file: string, cause: unknown, remedyIfDamaged = RESTORE): Error {
  if (cause instanceof StartRefused) return cause
  const fault = fileFault(file, cause)
  if (fault !== null) return new StartRefused(sentence(fault, remedyIfDamaged), { cause })
  return cause instanceof Error ? cause : new Error(String(cause))
}

/** Opens `file` and maps a failure with `toStartRefused`. */
export function opening<T>(file: string, open: (file: string) => T): T {
  try {
    return open(file)
  } catch (cause) {
    throw toStartRefused(file, cause)
  }
}

/** Returns the first refusal in the chain of causes of a startup error, or the error itself. */
export function refusalOf(dataDir: string, error: unknown): unknown {
  for (let cause = error, depth = 0; cause instanceof Error && depth < CAUSES_MAX; cause = cause.cause, depth++) {
    const refused = toStartRefused(dataDir, cause)
    if (refused instanceof StartRefused) return refused
  }
  return error
}

const CAUSES_MAX = 5
const RESTORE = 'restore it from a backup'

function sentence({ kind, path, reason, owner }: FileFault, remedyIfDamaged: string): string {
  switch (kind) {
    case 'denied':
      return `${path} cannot be used by this user (${reason}); ${toOwner(path, owner)}`
    case 'read-only':
      return `${path} is on a read-only file system (${reason}); mount it writable, or set another DATA_DIR`
    case 'full':
      return `${path} cannot be written (${reason}): the disk or the quota is full; free some space, or set another DATA_DIR`
    case 'descriptors':
      return `${path} cannot be opened (${reason}): too many files are open; raise the limit with ulimit -n`
    case 'wrong-kind':
      return `${path} is not the expected kind of file (${reason}); move it away, or restore it from a backup`
    case 'missing':
      return `${path} does not exist (${reason}); restore it from a backup`
    case 'in-use':
      return `${path} is in use by another process (${reason}); stop it, or set another DATA_DIR`
    case 'device':
      return `${path} cannot be read or written (${reason}): the device reports errors; check it (dmesg), then restore the file from a backup`
    case 'damaged':
      return `${path} is damaged or not a database (${reason}); ${remedyIfDamaged}`
    default:
      return kind satisfies never
  }
}

function toOwner(path: string, owner: FileFault['owner']): string {
  if (owner === null) return 'grant this user read and write permission'
  const { file, process } = owner
  if (file === process) return `this user owns it; grant access with: chmod u+rwX '${path}'`
  return `its owner is user ${file}, but this process runs as user ${process}; run: chown -R ${process} '${path}'`
}
