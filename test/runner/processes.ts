/** Processes of this machine as `/proc` of Linux shows them; elsewhere there are none. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export interface ProcessFacts {
  readonly pid: number
  /** The arguments, with spaces between them. */
  readonly command: string
}

/** Of `/proc`: always 100 on Linux. */
const TICKS_PER_SECOND = 100
const COMMAND_LENGTH_MAX = 120

/** Returns the processes that this one has started and that still run, and those that they have started. */
export function descendantsOf(pid: number): readonly ProcessFacts[] {
  return childrenOf(pid).flatMap((child) => [{ pid: child, command: commandOf(child) }, ...descendantsOf(child)])
}

export function childrenOf(pid: number): readonly number[] {
  const children = read(() =>
    readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    ),
  )
  return children ?? []
}

/** Returns the processes whose arguments, environment or working folder name the text. */
export function processesNaming(text: string): readonly ProcessFacts[] {
  const pids = (read(() => readdirSync('/proc')) ?? []).map(Number).filter((pid) => pid > 0 && pid !== process.pid)
  return pids
    .filter((pid) =>
      [
        () => readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
        () => readFileSync(`/proc/${pid}/environ`, 'utf8'),
        () => readlinkSync(`/proc/${pid}/cwd`),
      ].some((look) => read(look)?.includes(text)),
    )
    .map((pid) => ({ pid, command: commandOf(pid) }))
}

/** Returns the user and system time of a process and of the children that it has waited for; 0 if it is gone. */
export function cpuSecondsOf(pid: number): number {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return 0
  // The name of the process, in parentheses, may contain spaces. Behind it, utime to cstime are fields 14 to 17 of proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
}

/** Whether a process exists and has not ended; an ended one may exist until its parent has waited for it. */
export function isRunning(pid: number): boolean {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  return stat !== null && !/^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')))
}

/** Ends processes at once; those that are gone are skipped. */
export function killAll(processes: readonly ProcessFacts[]): void {
  for (const { pid } of processes) read(() => process.kill(pid, 'SIGKILL'))
}

function commandOf(pid: number): string {
  const text = read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? ''
  return text.replaceAll('\0', ' ').trim().slice(0, COMMAND_LENGTH_MAX)
}

/** Returns null if the process has ended meanwhile, or belongs to another user. */
function read<T>(look: () => T): T | null {
  try {
    return look()
  } catch {
    return null
  }
}
