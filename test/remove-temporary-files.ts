/**
 * Global setup: the temporary files of all tests and of the processes they start are in two folders, removed at the end.
 *
 * They are in memory if there is enough of it, but for those of a file that calls `useDisk`: a ClickHouse engine and a PostgreSQL
 * server create and remove thousands of small files, which takes a third of their processor time on a disk.
 */

import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const SHARED_MEMORY = '/dev/shm'
/** Files of the tests take a fraction of it. */
const FREE_BYTES_MIN = 6 * 2 ** 30

export default function removeTemporaryFiles(): () => void {
  const folder = makeFolder(tmpdir())
  const inMemory = hasMemory() ? makeFolder(SHARED_MEMORY) : folder
  process.env['TMPDIR'] = process.env['TEST_DISK_DIR'] = folder
  process.env['TEST_MEMORY_DIR'] = inMemory
  return () => {
    for (const each of new Set([folder, inMemory])) rmSync(each, { recursive: true, force: true, maxRetries: 3 })
  }
}

function makeFolder(parent: string): string {
  // A short name: the path of a socket has at most 107 bytes.
  const folder = mkdtempSync(join(parent, 'tg-'))
  // Servers that refuse to run as root use folders in it.
  chmodSync(folder, 0o711)
  return folder
}

/** Whether there is a file system in memory that is large enough, and in which tests can run programs. */
function hasMemory(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .findLast((line) => line.includes(` ${SHARED_MEMORY} tmpfs `))
    if (mount === undefined || /\b(?:noexec|ro)\b/.test(mount)) return false
    const { bavail, bsize } = statfsSync(SHARED_MEMORY)
    return Math.min(bavail * bsize, freemem()) >= FREE_BYTES_MIN
  } catch {
    return false
  }
}
