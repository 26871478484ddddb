/** What the numbers were measured on: without it they mean nothing. */

import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'

export function describeMachine(): string {
  const all = cpus()
  const memoryGiB = (totalmem() / 1024 ** 3).toFixed(1)
  return `${all[0]?.model.trim() ?? 'unknown CPU'}, ${all.length} cores, ${memoryGiB} GiB, Linux ${release()}, Node ${process.version}`
}

/** The first line of what `program` says of its version; null where it is not installed. */
export function versionOf(program: string, flag: string): string | null {
  try {
    const text = execFileSync('sh', ['-c', `"${program}" ${flag} 2>&1`], { encoding: 'utf8' })
    return text.split('\n')[0]?.trim() ?? null
  } catch {
    return null
  }
}
