/**
 * Makes every write of this process to a file fail, as on a full disk: with `prlimit`, of util-linux. Works without
 * being root. The error is EFBIG.
 */

import { execFileSync } from 'node:child_process'

/** Runs `work` while no file can be written beyond `bytes`. */
export async function withFilesLimited<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  limit(String(bytes))
  try {
    return await work()
  } finally {
    limit('unlimited')
  }
}

/** The soft limit: it can be raised again. */
function limit(bytes: string): void {
  execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:`])
}
