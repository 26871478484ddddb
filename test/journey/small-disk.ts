/**
 * A disk that can be filled and freed while the service runs on it.
 *
 * With the right to mount, it is a small tmpfs, where every program gets ENOSPC. Without it, `prlimit` limits the
 * size of files of the process, and every write to a file fails with EFBIG.
 */

import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly dataDir: string
  /** Code of the error of a write to the full disk. */
  readonly code: 'ENOSPC' | 'EFBIG'
  /** Fills the disk, so that every further write of the process `pid` fails. */
  fill(pid: number): void
  free(pid: number): void
  remove(): void
}

export function openSmallDisk(bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-disk-'))
  const dataDir = join(folder, 'data')
  const isMounted = run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder)
  mkdirSync(dataDir)
  const filler = join(folder, 'filler')

  return {
    dataDir,
    code: isMounted ? 'ENOSPC' : 'EFBIG',
    fill(pid) {
      if (isMounted) fillUp(filler)
      else limitFiles(pid, '0')
    },
    free(pid) {
      if (isMounted) rmSync(filler)
      else limitFiles(pid, 'unlimited')
    },
    remove() {
      if (isMounted) run('umount', '--lazy', folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function run(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}

/** Sets the soft limit, which can be raised again. */
function limitFiles(pid: number, bytes: string): void {
  if (!run('prlimit', `--pid=${pid}`, `--fsize=${bytes}:`)) throw new Error('prlimit (util-linux) is needed')
}

/** Fills the disk to the last byte, and repeats because other processes may free or use space meanwhile. */
function fillUp(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (let bytes = 1 << 20; bytes > 0; bytes >>= 1) {
      const chunk = Buffer.alloc(bytes)
      try {
        for (;;) writeSync(file, chunk)
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause
      }
    }
  } finally {
    closeSync(file)
  }
}
